package slave

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// madeUpSpace is a made-up process space and its master, as numbers sees them.
type madeUpSpace struct {
	numbers
	next    []wire.PID
	low     []wire.PID
	wishes  int // for blocks
	allowed []procevents.Range
	fences  [][2]wire.Block
	count   int   // of tasks
	err     error // of moving the cursor
}

func newMadeUpSpace() *madeUpSpace {
	s := new(madeUpSpace)
	s.log = slog.New(slog.DiscardHandler)
	s.cursor = pidmap.NewCursor(wire.Block{})
	s.set = func(next wire.PID) error {
		s.next = append(s.next, next)
		return s.err
	}
	s.arm = func(low wire.PID) { s.low = append(s.low, low) }
	s.tasks = func() int { return s.count }
	s.allow = func(r procevents.Range) { s.allowed = append(s.allowed, r) }
	s.fence = func(block, other wire.Block) error {
		s.fences = append(s.fences, [2]wire.Block{block, other})
		return nil
	}
	s.want = func() { s.wishes++ }
	return s
}

func (s *madeUpSpace) grant(t *testing.T, blocks ...wire.Block) {
	t.Helper()
	if err := s.add(blocks); err != nil {
		t.Fatal(err)
	}
}

func (s *madeUpSpace) check(t *testing.T, when string, next, low []wire.PID, wishes int) {
	t.Helper()
	if !reflect.DeepEqual(s.next, next) || !reflect.DeepEqual(s.low, low) || s.wishes != wishes {
		t.Errorf("%s: cursor at %v, notices at %v, wishes %v; want %v, %v, %v", when, s.next, s.low, s.wishes, next, low, wishes)
	}
	s.next, s.low, s.wishes = nil, nil, 0
}

const (
	firstPID  = pidmap.Node
	secondPID = pidmap.Node + 200
	thirdPID  = pidmap.Node + 400
)

func TestNumbersFollowTheCursor(t *testing.T) {
	s := newMadeUpSpace()
	first, second := wire.Block{First: firstPID, Count: 100}, wire.Block{First: secondPID, Count: 100}
	s.passed(firstPID)
	s.passed(firstPID)
	s.check(t, "without blocks", nil, nil, 1)
	s.grant(t, first)
	s.check(t, "first block", []wire.PID{firstPID}, []wire.PID{firstPID + 25}, 0)
	s.grant(t, second)
	s.check(t, "second block", nil, nil, 0)
	s.passed(firstPID + 24)
	s.check(t, "below the mark", nil, nil, 0)
	s.passed(firstPID + 25)
	s.check(t, "at the mark", []wire.PID{secondPID}, []wire.PID{secondPID + 25}, 0)
	if got := s.blocks(); !reflect.DeepEqual(got, []wire.Block{first, second}) {
		t.Errorf("got %v, want both blocks", got)
	}
}

func TestNumbersAskOnce(t *testing.T) {
	s := newMadeUpSpace()
	s.grant(t, wire.Block{First: firstPID, Count: 100})
	for n := range wire.PID(80) {
		s.life(firstPID+n, 1)
	}
	s.next, s.low = nil, nil
	s.passed(firstPID)
	s.passed(firstPID)
	s.check(t, "80 of 100 in use", nil, nil, 1)
	// After an answer without a block the next request comes, but not at once.
	s.grant(t)
	s.passed(firstPID)
	s.check(t, "after an empty answer", nil, nil, 0)
	s.denied = s.denied.Add(-deniedTime)
	s.askForMore()
	s.check(t, "some time after an empty answer", nil, nil, 1)
	s.grant(t, wire.Block{First: secondPID, Count: 300})
	s.passed(firstPID)
	s.check(t, "after a block", nil, nil, 0)
	for n := range wire.PID(80) {
		s.life(firstPID+n, -1)
	}
	s.passed(firstPID)
	s.check(t, "when they have died", nil, nil, 0)
}

func TestNumbersForget(t *testing.T) {
	s := newMadeUpSpace()
	s.grant(t, wire.Block{First: firstPID, Count: 100})
	s.passed(firstPID)
	s.forget()
	if got := s.blocks(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	s.next, s.low, s.wishes = nil, nil, 0
	s.grant(t, wire.Block{First: thirdPID, Count: 100})
	s.check(t, "another master's block", []wire.PID{thirdPID}, []wire.PID{thirdPID + 25}, 0)
}

func TestNumbersRefuse(t *testing.T) {
	s := newMadeUpSpace()
	block := wire.Block{First: firstPID, Count: 100}
	s.grant(t, block)
	if err := s.add([]wire.Block{{First: firstPID + 99, Count: 5}}); !errors.Is(err, pidmap.ErrBlocks) {
		t.Errorf("got %v, want %v", err, pidmap.ErrBlocks)
	}
	if got := s.blocks(); !reflect.DeepEqual(got, []wire.Block{block}) {
		t.Errorf("got %v, want the first block alone", got)
	}
}

// TestNumbersOfABrokenSpace has the cursor stay where it is. Then no notice is armed, which would
// come at once, again and again. Births go on, and the cursor is moved as soon as that is possible.
func TestNumbersOfABrokenSpace(t *testing.T) {
	s := newMadeUpSpace()
	s.err = errors.New("broken")
	s.grant(t, wire.Block{First: firstPID, Count: 100})
	s.check(t, "no way to move", []wire.PID{firstPID}, nil, 0)
	s.life(17, 1)
	s.life(17, -1)
	s.check(t, "at a birth", []wire.PID{firstPID}, nil, 0)
	s.err = nil
	s.life(18, 1)
	s.check(t, "it moves again", []wire.PID{firstPID}, []wire.PID{firstPID + 25}, 0)
	s.life(firstPID, 1)
	s.check(t, "it has moved", nil, nil, 0)
}

func TestOurs(t *testing.T) {
	n := &numbers{cursor: pidmap.NewCursor(wire.Block{}), tasks: func() int { return 0 }, set: func(wire.PID) error { return nil }, arm: func(wire.PID) {}, allow: func(procevents.Range) {}, fence: func(_, _ wire.Block) error { return nil }}
	if n.ours(pidmap.Node) {
		t.Error("a number is ours without a lease")
	}
	if err := n.add([]wire.Block{{First: pidmap.Node + 64, Count: 16}}); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[wire.PID]bool{
		1: false, pidmap.Node: false, pidmap.Node + 63: false,
		pidmap.Node + 64: true, pidmap.Node + 79: true, pidmap.Node + 80: false,
	} {
		if n.ours(pid) != want {
			t.Errorf("%d: got %v", pid, !want)
		}
	}
}

func TestNumbersLateAndStrayed(t *testing.T) {
	s := newMadeUpSpace()
	if s.late(firstPID) {
		t.Error("late without a block")
	}
	s.grant(t, wire.Block{First: firstPID, Count: 100}, wire.Block{First: secondPID, Count: 100})
	if want := []procevents.Range{{First: firstPID, End: firstPID + 133}}; !reflect.DeepEqual(s.allowed, want) {
		t.Errorf("allowed %v, want %v", s.allowed, want)
	}
	if want := [][2]wire.Block{{{First: firstPID, Count: 100}, {First: secondPID, Count: 100}}}; !reflect.DeepEqual(s.fences, want) {
		t.Errorf("fences %v, want %v", s.fences, want)
	}
	for pid, want := range map[wire.PID]bool{
		0: false, firstPID + 87: false, firstPID + 88: true, firstPID + 132: true, secondPID: false,
	} {
		if s.late(pid) != want {
			t.Errorf("late(%d): got %v", pid, !want)
		}
	}
	s.next, s.low = nil, nil
	s.strayed()
	if !s.owned(secondPID + 120) {
		t.Error("a number behind a block is not the node's")
	}
	s.check(t, "own number", []wire.PID{secondPID}, []wire.PID{secondPID + 25}, 0)
	if s.owned(thirdPID) || s.owned(17) {
		t.Error("a number behind the gap is the node's")
	}
}

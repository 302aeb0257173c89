package core

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

// nextCore returns the core of the daemon that would follow if the daemon of a script died now.
func (s *script) nextCore() *Core {
	s.Helper()
	c, err := New(Config{Journal: s.journal.records, Confirmed: s.journal.confirmed})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// TestNextDaemon has a daemon die again and again while many things happen. The next one knows what
// it knew.
func TestNextDaemon(t *testing.T) {
	s, r := newScript(t), rand.New(rand.NewPCG(5, 6))
	argv := []string{strings.Repeat("x", 300)}
	kinds := []wire.EventKind{wire.EventForked, wire.EventExited, wire.EventGrouped, wire.EventStopped, wire.EventReaper, wire.EventZombie}
	for i := range 1000 {
		pid := pidmap.Node + wire.PID(r.IntN(500))
		events := make([]wire.Event, r.IntN(100))
		for n := range events {
			events[n] = wire.Event{Kind: kinds[r.IntN(len(kinds))], PID: pid + wire.PID(n), PGID: pid, Status: wire.Status(r.IntN(60)), Argv: argv}
		}
		s.journal.grown = i%50 == 0
		s.tell(events)
		if i%10 == 0 {
			s.step(Blocks{[]wire.Block{{First: pidmap.Node + wire.PID(i), Count: 17}}})
		}
		e := &s.core.events
		s.message(0, &wire.Progress{Event: e.first + uint64(r.IntN(len(e.told)+1)) - 1})
		if i%100 != 0 {
			continue
		}
		next := s.nextCore().events
		if !maps.Equal(next.known, e.known) || !maps.Equal(next.now(), e.now()) || len(next.told) != len(e.told) {
			t.Fatalf("the next knows %d processes and %d events, want %d and %d", len(next.known), len(next.told), len(e.known), len(e.told))
		}
		if next.arguments != e.arguments {
			t.Fatalf("the next keeps %d bytes of command lines, want %d", next.arguments, e.arguments)
		}
		if !slices.Equal(next.blocks, e.blocks) || next.position != e.position {
			t.Fatalf("the next has %v and position %d, want %v and %d", next.blocks, next.position, e.blocks, e.position)
		}
		s.begin()
		s.next = s.core.events.first + uint64(len(s.core.events.told))
	}
}

// TestArgumentsBehind has processes with very many arguments, whose events the front end does not
// confirm. All processes are held until it has.
func TestArgumentsBehind(t *testing.T) {
	s := newScript(t)
	argv := make([]string, 64<<10)
	b := &s.core.backlog
	events := 0
	for ; !b.frozen; events++ {
		if kept := s.core.events.arguments; kept > maxArgumentsBehind {
			t.Fatalf("%d bytes of command lines are kept", kept)
		}
		s.tell([]wire.Event{{Kind: wire.EventExeced, PID: pidmap.Node, Argv: argv}})
	}
	first := s.core.events.first
	for ; b.frozen; events-- {
		if events == 0 {
			t.Fatal("the processes are held though the front end is done with everything")
		}
		s.message(0, &wire.Progress{Event: first})
		first++
	}
	if kept := s.core.events.arguments; kept > maxArgumentsBehind/2 || kept == 0 {
		t.Errorf("the processes go on with %d bytes of command lines", kept)
	}
}

func TestLongArguments(t *testing.T) {
	s := newScript(t)
	s.tell([]wire.Event{
		{Kind: wire.EventExeced, PID: 2000000, Argv: []string{"a", strings.Repeat("x", 60_000)}},
		{Kind: wire.EventExeced, PID: 2000000, Argv: []string{"b", "c"}},
	})
	got := s.nextCore().events.told
	if len(got) != 2 || !slices.Equal(got[0].Argv, []string{"a"}) || !slices.Equal(got[1].Argv, []string{"b", "c"}) {
		t.Errorf("the next has %v", got)
	}
	if len(s.core.events.told[0].Argv) != 2 {
		t.Error("this one has lost the arguments")
	}
}

// TestEventsWithManyArguments reports processes with command lines of all kinds, at once. The
// receiver can decode each message.
func TestEventsWithManyArguments(t *testing.T) {
	for name, argv := range map[string][]string{
		"none":       nil,
		"empty ones": make([]string, 64<<10),
		"short ones": slices.Repeat([]string{"x"}, 32<<10),
		"a long one": {strings.Repeat("x", 64<<10)},
	} {
		events := slices.Repeat([]wire.Event{{Kind: wire.EventExeced, PID: 1 << 21, Argv: argv, Birth: 1 << 62}}, 150)
		for told := 0; told < len(events); {
			n := atOnce(events[told:])
			frame, err := wire.Append(nil, 0, &wire.Events{First: 1 << 62, Events: events[told : told+n]})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if m, _, err := wire.NewReader(bytes.NewReader(frame)).Read(); err != nil || len(m.(*wire.Events).Events) != n {
				t.Fatalf("%s: %d events: %v", name, n, err)
			}
			told += n
		}
	}
}

// TestJournalOfNoDaemon confirms more events than there were.
func TestJournalOfNoDaemon(t *testing.T) {
	if _, err := New(Config{Confirmed: 1}); !errors.Is(err, ErrJournal) {
		t.Errorf("got %v, want %v", err, ErrJournal)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add(uint32(recordKnown), knownRecord(Known{PID: 100, Launched: true}).Payload, uint64(0))
	f.Add(uint32(recordUnasked), unaskedRecord(100).Payload, uint64(0))
	f.Add(uint32(recordParent), parentRecord(Known{PID: 100, Parent: 1}).Payload, uint64(0))
	f.Add(uint32(recordBlocks), blocksRecord([]wire.Block{{First: pidmap.Node, Count: 10}}).Payload, uint64(0))
	records, err := eventRecords([]wire.Event{{Kind: wire.EventForked, PID: 2000000, Parent: 100}}, []Known{{PID: 2000000}}, 48)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(records[0].Kind, records[0].Payload, uint64(1))
	f.Fuzz(func(t *testing.T, kind uint32, payload []byte, confirmed uint64) {
		c, err := New(Config{Journal: []Record{{kind, payload}}, Confirmed: confirmed})
		if err != nil {
			if !errors.Is(err, ErrJournal) {
				t.Errorf("%v is not %v", err, ErrJournal)
			}
			return
		}
		if len(c.events.told) != len(c.events.states) {
			t.Errorf("%d events, %d states", len(c.events.told), len(c.events.states))
		}
	})
}

// TestBirthsAgain reports births again. One names its user whose maker has changed its own since.
func TestBirthsAgain(t *testing.T) {
	const maker, first, second = pidmap.Node, pidmap.Node + 1, pidmap.Node + 2
	alice, root := wire.IDs{Real: 1000, Effective: 1000, Saved: 1000}, wire.IDs{}
	told := []wire.Event{
		{Kind: wire.EventForked, PID: first, Parent: maker},
		{Kind: wire.EventExeced, PID: maker, User: &root},
		{Kind: wire.EventForked, PID: second, Parent: 1, Maker: maker},
		{Kind: wire.EventExited, PID: maker},
		{Kind: wire.EventForked, PID: maker, Parent: second}, // another with the number
		{Kind: wire.EventExeced, PID: maker, User: &alice},
	}
	states := []Known{{PID: first, User: alice, Group: alice}, {PID: maker, User: root, Group: alice}, {PID: second, User: root, Group: alice}, {PID: maker}, {PID: maker}, {PID: maker, User: alice}}
	e := events{told: told, states: states}
	for i, event := range e.again() {
		want := told[i].User
		if i == 0 {
			want = &alice
		}
		if (event.User == nil) != (want == nil) || want != nil && *event.User != *want {
			t.Errorf("event %d: got user %v, want %v", i, event.User, want)
		}
		if got := event.Group; (got != nil) != (i == 0) || got != nil && *got != alice {
			t.Errorf("event %d: got group %v", i, got)
		}
	}
	if told[0].User != nil {
		t.Error("the event itself was changed")
	}
}

package slave

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// family is a made-up family of processes, the youngest of which are found late.
type family struct {
	late
	found [][]wire.PID // by the round in which they are found
	got   []string
	holds int
	held  int   // processes are held now
	slow  bool  // some cannot be held
	err   error // of holding them
}

// again, added to a number, is another process that has it.
const again = 1000

func newFamily(found ...[]wire.PID) *family {
	f := &family{found: found}
	f.late = late{
		wake:  make(chan struct{}, 1),
		meant: func(pid wire.PID, seen uint64) bool { return pid != 16 && seen == 5 },
		of:    func(pid wire.PID, seen uint64) []wire.PID { return f.find(pid, seen, 5) },
		from: func(pid wire.PID, birth uint64) (all []procevents.Born) {
			for _, n := range f.find(pid, birth, 6) {
				all = append(all, procevents.Born{PID: n % again, Birth: uint64(n)})
			}
			return all
		},
		signal: func(pid wire.PID, info []byte) error { return f.take(pid, info) },
		once:   func(m *wire.Signal) error { return f.take(m.PID, m.Info) },
		hold:   func() (bool, error) { f.held++; f.holds++; return !f.slow, f.err },
		let:    func() error { f.held--; return nil },
		kill: func(pid wire.PID) error {
			if f.held != 1 {
				return errors.New("killed while it was not held")
			}
			f.got = append(f.got, fmt.Sprintf("%d killed", pid))
			return nil
		},
	}
	return f
}

func (f *family) take(pid wire.PID, info []byte) error {
	f.got = append(f.got, fmt.Sprintf("%d:%d", pid, info[0]))
	return nil
}

func (f *family) find(pid wire.PID, event, want uint64) []wire.PID {
	if pid != 17 || event != want || len(f.found) == 0 {
		return nil
	}
	found := f.found[0]
	f.found = f.found[1:]
	return found
}

func (f *family) give(t *testing.T, pid wire.PID, signal unix.Signal, group bool) {
	t.Helper()
	if err := f.late.give(&wire.Signal{PID: pid, Info: append([]byte{byte(signal)}, make([]byte, 127)...), Group: group, Seen: 5}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		pid    wire.PID
		signal unix.Signal
		group  bool
		slow   bool
		found  [][]wire.PID
		want   string
		holds  int
	}{
		{"one process", 17, unix.SIGKILL, false, false, [][]wire.PID{{18}}, "[17:9]", 0},
		{"another has the number", 16, unix.SIGKILL, false, false, nil, "[]", 0},
		{"another of the group has the number", 16, unix.SIGTERM, true, false, nil, "[]", 0},
		{"a group", 17, unix.SIGTERM, true, false, [][]wire.PID{{18, 19}, {20}}, "[18:15 19:15 17:15]", 0},
		{"a group is killed", 17, unix.SIGKILL, true, false, [][]wire.PID{{18}, {19, 20}}, "[19 killed 20 killed]", 1},
		{"nobody is late", 17, unix.SIGKILL, true, false, nil, "[]", 0},
		{"not all are held", 17, unix.SIGKILL, true, true, [][]wire.PID{{18}, {18}, {18, 19}, {18, 19, 20}, {20}}, "[18 killed 19 killed 20 killed]", 2},
		{"a number is another's", 17, unix.SIGKILL, true, true, [][]wire.PID{{18}, {18}, {18, again + 18}, {again + 18}}, "[18 killed 18 killed]", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(c.found...)
				f.slow = c.slow
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- f.run(ctx) }()
				f.give(t, c.pid, c.signal, c.group)
				if got := fmt.Sprint(f.got); got != c.want || f.holds != c.holds || f.held != 0 {
					t.Errorf("got %s after %d holds, %d without end, want %s after %d", got, f.holds, f.held, c.want, c.holds)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A family that grows faster than it is killed is left to the next signal.
func TestLateIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var endless [][]wire.PID
		for pid := range wire.PID(100) {
			endless = append(endless, []wire.PID{100 + pid})
		}
		f := newFamily(endless...)
		f.slow = true
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.run(ctx) }()
		f.give(t, 17, unix.SIGKILL, true)
		if f.holds != maxRounds {
			t.Errorf("%d holds, want %d", f.holds, maxRounds)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLateEndsWithTheSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily([]wire.PID{18}, []wire.PID{18})
		f.err = errors.New("there is no freezer any more")
		ended := make(chan error, 1)
		go func() { ended <- f.run(t.Context()) }()
		f.give(t, 17, unix.SIGKILL, true)
		if err := <-ended; !errors.Is(err, f.err) {
			t.Errorf("got %v, want %v", err, f.err)
		}
	})
}

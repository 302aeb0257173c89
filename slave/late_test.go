package slave

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// family is a made-up family of processes, the youngest of which are found late.
type family struct {
	late
	found [][]wire.PID // by the round in which they are found
	got   []string
	syncs int
	err   error // of waiting for init
}

func newFamily(found ...[]wire.PID) *family {
	f := &family{found: found}
	f.late = late{
		wake: make(chan struct{}, 1),
		of: func(pid wire.PID, seen uint64) []wire.PID {
			if pid != 17 || seen != 5 || len(f.found) == 0 {
				return nil
			}
			late := f.found[0]
			f.found = f.found[1:]
			return late
		},
		signal: func(pid wire.PID, info []byte, _ uint64) error {
			f.got = append(f.got, fmt.Sprintf("%d:%d", pid, info[0]))
			return nil
		},
		sync: func(context.Context) error { f.syncs++; return f.err },
	}
	return f
}

func (f *family) give(t *testing.T, signal unix.Signal, group bool) {
	t.Helper()
	if err := f.late.give(&wire.Signal{PID: 17, Info: append([]byte{byte(signal)}, make([]byte, 127)...), Group: group, Seen: 5}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal unix.Signal
		group  bool
		found  [][]wire.PID
		want   string
		syncs  int
	}{
		{"one process", unix.SIGKILL, false, [][]wire.PID{{18}}, "[17:9]", 0},
		{"a group", unix.SIGTERM, true, [][]wire.PID{{18, 19}, {20}}, "[18:15 19:15 17:15]", 0},
		{"a group is killed", unix.SIGKILL, true, [][]wire.PID{{18}, {18, 19}, {18, 19, 20}, {20}}, "[18:9 17:9 19:9 20:9]", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(c.found...)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- f.run(ctx) }()
				f.give(t, c.signal, c.group)
				if got := fmt.Sprint(f.got); got != c.want || f.syncs != c.syncs {
					t.Errorf("got %s after %d syncs, want %s after %d", got, f.syncs, c.want, c.syncs)
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
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.run(ctx) }()
		f.give(t, unix.SIGKILL, true)
		if f.syncs != maxRounds {
			t.Errorf("%d rounds, want %d", f.syncs, maxRounds)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLateEndsWithInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily()
		f.err = errors.New("init is gone")
		ended := make(chan error, 1)
		go func() { ended <- f.run(t.Context()) }()
		f.give(t, unix.SIGKILL, true)
		if err := <-ended; !errors.Is(err, f.err) {
			t.Errorf("got %v, want %v", err, f.err)
		}
	})
}

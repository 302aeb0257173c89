package procevents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"bproc/slave/procevents"
	"bproc/test/limit"
	"bproc/wire"
)

// names gives processes letters in the order in which they appear.
type names map[wire.PID]string

func (n names) of(pid wire.PID) string {
	switch {
	case pid == 0:
		return "outside"
	case pid == 1:
		return "init"
	case n[pid] == "":
		n[pid] = string(rune('A' + len(n)))
	}
	return n[pid]
}

func (n names) show(r procevents.Record) string {
	switch r.Kind {
	case procevents.Forked:
		s := fmt.Sprintf("%s forked by %s", n.of(r.PID), n.of(r.Parent))
		if r.Creator != r.Parent {
			s += ", in truth by " + n.of(r.Creator)
		}
		return s
	case procevents.Execed:
		s := n.of(r.PID) + " execed"
		if r.PGID != 0 {
			s += fmt.Sprintf(", group %s, session %s", n.of(r.PGID), n.of(r.SID))
		}
		return s
	case procevents.Exited:
		return fmt.Sprintf("%s exited %#x", n.of(r.PID), uint32(r.Status))
	default:
		return fmt.Sprintf("kind %d", r.Kind)
	}
}

func TestRecords(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	for _, c := range []struct {
		name    string
		command string
		want    []string
	}{
		{"exit code", "exit 7", []string{"A forked by init", "A execed", "A exited 0x700"}},
		{"killed", "kill -9 $$", []string{"A forked by init", "A execed", "A exited 0x9"}},
		{"signal", "ulimit -c 0; kill -SEGV $$", []string{"A forked by init", "A execed", "A exited 0xb"}},
		{"child", "/bin/true; exit 1", []string{
			"A forked by init", "A execed", "B forked by A", "B execed", "B exited 0x0", "A exited 0x100",
		}},
		{"exec", "exec /bin/false", []string{"A forked by init", "A execed", "A execed", "A exited 0x100"}},
		{"session", "setsid -w /bin/true; :", []string{
			"A forked by init", "A execed", "B forked by A", "B execed", "B execed, group B, session B", "B exited 0x0", "A exited 0x0",
		}},
		{"thread executes", "exec $SELF exec-thread", []string{
			"A forked by init", "A execed", "A execed", "A execed", "A exited 0x500",
		}},
		{"first thread ends first", "exec $SELF leader-exits", []string{
			"A forked by init", "A execed", "A execed", "A exited 0x900",
		}},
		{"threads", "exec $SELF threads", []string{"A forked by init", "A execed", "A execed", "A exited 0x0"}},
		{"namespace below", "unshare -p -f /bin/true; :", []string{
			"A forked by init", "A execed", "B forked by A", "B execed", "C forked by B", "C execed", "C exited 0x0", "B exited 0x0", "A exited 0x0",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.run(c.command)
			var got []string
			n := names{}
			source.Drain(func(r procevents.Record) { got = append(got, n.show(r)) })
			// The last threads of a process may both report its end.
			got = slices.CompactFunc(got, func(a, b string) bool { return a == b && a[len(a)-6:] != "execed" })
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestCloneParent(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	s.run("$SELF clone-parent; :")
	n := names{}
	var got []string
	source.Drain(func(r procevents.Record) {
		if r.Kind == procevents.Forked {
			got = append(got, n.show(r))
		}
	})
	want := []string{"A forked by init", "B forked by A", "C forked by A, in truth by B"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFrontEndsOwnAreNotReported(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{FrontEnd: 5001})
	// The shell has a small number, its children have numbers from 5001.
	s.run("echo 5000 > /proc/sys/kernel/ns_last_pid; /bin/true; /bin/true; exit 3")
	n := names{}
	var got []string
	source.Drain(func(r procevents.Record) { got = append(got, n.show(r)) })
	want := []string{
		"A execed", "B forked by A", "B execed", "B exited 0x0", "C forked by A", "C execed", "C exited 0x0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutsidersAreNotReported(t *testing.T) {
	source := newSpace(t).open(procevents.Config{})
	newSpace(t).run("/bin/true; /bin/true")
	source.Drain(func(r procevents.Record) { t.Errorf("got %+v of another space", r) })
}

// TestDrainSeesWhatWasBefore reads the number of a process from a pipe and drains:
// its birth must be there.
func TestDrainSeesWhatWasBefore(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	const rounds = 300
	s.start(fmt.Sprintf(`n=0; while [ $n -lt %d ]; do sh -c 'echo $$'; n=$((n+1)); done`, rounds))
	born := map[int]bool{}
	for range rounds {
		pid := s.number()
		source.Drain(func(r procevents.Record) {
			if r.Kind == procevents.Forked {
				born[int(r.PID)] = true
			}
		})
		if !born[pid] {
			t.Fatalf("process %d has spoken and was not born", pid)
		}
	}
	s.wait()
}

func TestWait(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), limit.Scaled(20*time.Second))
	defer cancel()

	t.Run("after another has drained", func(t *testing.T) {
		for range 50 {
			s.start("/bin/true; /bin/true")
			if err := source.Wait(ctx, time.Time{}); err != nil {
				t.Fatal(err)
			}
			source.Drain(func(procevents.Record) {})
			s.wait()
			source.Drain(func(procevents.Record) {}) // nothing is left, although the reader was woken
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		cause := errors.New("the cause")
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		if err := source.Wait(ctx, time.Time{}); !errors.Is(err, cause) {
			t.Errorf("got %v, want the cause", err)
		}
	})
	t.Run("after a cancelled one", func(t *testing.T) {
		s.start("/bin/true")
		if err := source.Wait(ctx, time.Time{}); err != nil {
			t.Error(err)
		}
		s.wait()
		source.Drain(func(procevents.Record) {})
	})
	t.Run("woken", func(t *testing.T) {
		for range 200 { // before it, at its begin and during it
			woken := make(chan struct{})
			go func() {
				defer close(woken)
				source.Wake()
			}()
			if err := source.Wait(ctx, time.Time{}); err != nil {
				t.Fatal(err)
			}
			<-woken
		}
		source.Wake()
		if err := source.Wait(ctx, time.Time{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		ended := make(chan error)
		go func() { ended <- source.Wait(ctx, time.Time{}) }()
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			if err = source.Wait(ctx, time.Time{}); !errors.Is(err, os.ErrClosed) {
				t.Errorf("got %v, want os.ErrClosed", err)
			}
		} else if !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v, want os.ErrClosed", err)
		}
		source.Drain(func(r procevents.Record) { t.Errorf("got %+v after Close", r) })
	})
}

// TestWaitWithKeptRecords keeps all records that were read. Those of a process that has been reported
// end a wait, those of a younger one do not.
func TestWaitWithKeptRecords(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	young, old := s.fifo(), s.fifo()
	s.start(fmt.Sprintf("sh -c 'echo 1; read word <%s' & read word <%s; /bin/true; echo 1; wait", old, young))
	s.number()
	look := func() { source.Read(func(procevents.Record, uint64) {}) }
	look()
	source.Told(time.Now())

	s.close(young)
	s.number()
	if got := source.Urgent(); got != 0 {
		t.Errorf("%d records are urgent, want none", got)
	}
	look()
	until := time.Now().Add(limit.Scaled(20 * time.Second))
	ended := make(chan error)
	go func() { ended <- source.Wait(t.Context(), until) }()
	s.close(old)
	if err := <-ended; err != nil || !time.Now().Before(until) || source.Urgent() == 0 {
		t.Errorf("got %v with %d urgent records, want nil soon, with some", err, source.Urgent())
	}
	s.wait()
	look()
	until = time.Now().Add(10 * time.Millisecond)
	if err := source.Wait(t.Context(), until); err != nil || time.Now().Before(until) {
		t.Errorf("got %v, want nil at the given time", err)
	}
}

func TestLost(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{Ring: os.Getpagesize()})
	s.run("n=0; while [ $n -lt 100 ]; do (:); n=$((n+1)); done")
	lost, kept := source.Lost(), 0
	source.Drain(func(procevents.Record) { kept++ })
	if lost == 0 || kept == 0 || int(lost)+kept < 203 {
		t.Errorf("%d lost and %d kept, want some of each, 203 together", lost, kept)
	}
	s.run("/bin/true")
	after := 0
	source.Drain(func(procevents.Record) { after++ })
	if after == 0 || source.Lost() != lost {
		t.Errorf("%d records and %d lost after room was made, want some and %d", after, source.Lost(), lost)
	}
}

// TestEndsHaveRoom: the last quarter of a ring is for ends.
func TestEndsHaveRoom(t *testing.T) {
	const size = 64 // of a record with its header
	s := newSpace(t)
	source := s.open(procevents.Config{Ring: os.Getpagesize()})
	shells := os.Getpagesize() / size / 2 // with a birth and an end each
	s.run(fmt.Sprintf("n=0; while [ $n -lt %d ]; do (:); n=$((n+1)); done", shells))
	lost, got := source.Lost(), map[procevents.Kind]int{}
	source.Drain(func(r procevents.Record) { got[r.Kind]++ })
	if births, ends := got[procevents.Forked], got[procevents.Exited]; ends != shells+1 || births+int(lost) != shells+1 || lost == 0 {
		t.Errorf("%d births, %d ends, %d lost; want all ends, and some births lost, of %d", births, ends, lost, shells+1)
	}
}

func TestFileKeepsTheRing(t *testing.T) {
	source := newSpace(t).open(procevents.Config{})
	f, err := source.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || link != "anon_inode:bpf-map" {
		t.Errorf("descriptor is %q, %v, want a BPF map", link, err)
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := procevents.Open(procevents.Config{Ring: 5000}); err == nil {
		t.Error("a ring of 5000 bytes was opened")
	}
	if _, err := procevents.Namespace(-1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("namespace of no process: %v", err)
	}
}

package procevents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

const (
	setCursor = "echo %d > /proc/sys/kernel/ns_last_pid"
	nodeZone  = 3000 // where the node zone begins in the tests
)

func pids(notices []procevents.Record, kind procevents.Kind) (all []wire.PID) {
	for _, r := range notices {
		if r.Kind == kind {
			all = append(all, r.PID)
		}
	}
	return all
}

func TestCursorLow(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	for _, c := range []struct {
		name    string
		arm     wire.PID // 0: not at all
		command string
		given   bool
	}{
		{"not armed", 0, "echo 5999 > /proc/sys/kernel/ns_last_pid; /bin/true", false},
		{"not reached", 7000, "/bin/true", false},
		{"reached by a process", 6000, "/bin/true", true},
		{"not armed again", 0, "/bin/true; /bin/true", false},
		{"reached by a thread", 7010, "echo 6999 > /proc/sys/kernel/ns_last_pid; $SELF threads", true},
		{"moved down", 6500, "echo 5999 > /proc/sys/kernel/ns_last_pid; /bin/true", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.arm != 0 {
				source.Arm(c.arm)
			}
			if c.name == "moved down" {
				// The shell itself still has a number above.
				s.run("echo 5999 > /proc/sys/kernel/ns_last_pid")
				source.Notices()
				source.Arm(c.arm)
			}
			s.run(c.command)
			got := pids(source.Notices(), procevents.CursorLow)
			if (len(got) > 0) != c.given || len(got) > 2 {
				t.Fatalf("notices %v, want any: %v", got, c.given)
			}
			if c.given && got[0] < c.arm {
				t.Errorf("notice for %d, armed for %d", got[0], c.arm)
			}
		})
	}
}

func TestStray(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{FrontEnd: nodeZone})
	s.run(fmt.Sprintf(setCursor, 4999))
	source.Allow(procevents.Range{First: 4000, End: 6000})
	source.Allow(procevents.Range{First: 5000, End: 6000})
	for _, c := range []struct {
		name    string
		command string
		stray   bool
		process bool // of the first notice: the task itself
	}{
		{"its own", "/bin/true; /bin/true", false, false},
		{"those of before", fmt.Sprintf(setCursor, 4500) + "; /bin/true", false, false},
		{"a process beyond", fmt.Sprintf(setCursor, 6000) + "; /bin/true", true, true},
		{"back again", fmt.Sprintf(setCursor, 5000) + "; /bin/true", false, false},
		{"a thread beyond", fmt.Sprintf("echo $$; "+setCursor+"; exec $SELF threads", 7000), true, false},
		{"back once more", fmt.Sprintf(setCursor, 5000) + "; /bin/true", false, false},
		{"run round", fmt.Sprintf(setCursor, 400) + "; /bin/true; :", true, true},
	} {
		s.run(c.command)
		var strays []procevents.Record
		for _, r := range source.Notices() {
			// A shell is a child of init, started where the command before has left the cursor.
			if r.Kind == procevents.Stray && !strings.HasPrefix(c.name, "back") {
				strays = append(strays, r)
			}
		}
		if (len(strays) > 0) != c.stray {
			t.Fatalf("%s: got %v, want any: %v", c.name, strays, c.stray)
		}
		if !c.stray {
			continue
		}
		if r := strays[0]; (r.PID == r.Parent) != c.process {
			t.Errorf("%s: task %d of process %d", c.name, r.PID, r.Parent)
		}
		if c.name == "a thread beyond" {
			if want := wire.PID(s.number()); strays[0].Parent != want {
				t.Errorf("%s: got process %d, want %d", c.name, strays[0].Parent, want)
			}
		}
	}
	if last := source.Last(); last < 5001 || last > 5100 {
		t.Errorf("last number %d, want one behind 5000", last)
	}
}

// isOld reports whether the kernel is older than Linux 5.17.
func isOld() bool { return features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnLoop) != nil }

// A birth takes time where few numbers are left, and much where fewer are, if the kernel has what
// it takes.
func TestHoldUp(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{FrontEnd: nodeZone})
	source.Allow(procevents.Range{First: 4000, End: 8000}) // its gap begins with 7000
	const births = 40
	much := 1500 * time.Microsecond
	if isOld() {
		much = 0
	}
	for _, c := range []struct {
		name   string
		before int
		least  time.Duration // for one birth
	}{
		{"most are left", 5000, 0},
		{"the gap", 7100, 200 * time.Microsecond},
		{"the end of the gap", 7800, much},
		{"beyond", 8100, much},
	} {
		begin := time.Now()
		s.run(fmt.Sprintf(setCursor, c.before) + fmt.Sprintf("; n=0; while [ $n -lt %d ]; do (:); n=$((n+1)); done", births))
		took := time.Since(begin)
		t.Logf("%s: %v for a birth", c.name, took/births)
		if took < births*c.least {
			t.Errorf("%s: %v for a birth, want %v at least", c.name, took/births, c.least)
		}
	}
}

func TestFilling(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{Ring: os.Getpagesize()}) // 64 records
	forks := func(n int) { s.run(fmt.Sprintf("n=0; while [ $n -lt %d ]; do (:); n=$((n+1)); done", n)) }
	filling := func() int { return len(pids(source.Notices(), procevents.Filling)) }
	forks(8) // with the shell's own 20 records
	if n := filling(); n != 0 {
		t.Errorf("%d notices of an empty ring", n)
	}
	forks(24)
	if n := filling(); n < 1 || n > 2 {
		t.Errorf("%d notices of a full ring, want one", n)
	}
	source.Drain(func(procevents.Record) {})
	forks(24)
	if n := filling(); n != 0 {
		t.Errorf("%d notices that were not asked for", n)
	}
	source.Drain(func(procevents.Record) {})
	source.Emptied()
	forks(24)
	if n := filling(); n < 1 || n > 2 {
		t.Errorf("%d notices when it is full again, want one", n)
	}
}

// mover starts a process in the space that moves the cursor, with init's priority.
func (s *space) mover() func(next wire.PID) {
	s.Helper()
	fifo := filepath.Join(s.TempDir(), "next")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		s.Fatal(err)
	}
	s.run(fmt.Sprintf("nice -n -20 sh -c 'while read n; do echo $n > /proc/sys/kernel/ns_last_pid; done' < %s >/dev/null 2>&1 &", fifo))
	to, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = to.Close() })
	return func(next wire.PID) {
		if _, err := fmt.Fprintln(to, next-1); err != nil {
			s.Error(err)
		}
	}
}

func TestAttend(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	notices, ended := make(chan procevents.Record), make(chan error)
	go func() { ended <- source.Attend(ctx, func(r procevents.Record) { notices <- r }) }()
	for range 20 {
		source.Arm(1)
		s.run("/bin/true")
		if r := <-notices; r.Kind != procevents.CursorLow {
			t.Fatalf("got %+v", r)
		}
	}
	cancel(cause)
	for {
		select {
		case <-notices:
			continue
		case err := <-ended:
			if !errors.Is(err, cause) {
				t.Errorf("got %v, want the cause", err)
			}
		}
		break
	}
}

// TestForkStorm has two processes of the space fork as fast as they can, while the cursor is moved
// between two small blocks. However late that is on a busy machine, each number outside of the
// blocks is noticed.
func TestForkStorm(t *testing.T) {
	const (
		forks             = 4000
		first, block, gap = 100_000, 1024, 1024
		end               = first + 2*(block+gap)
	)
	s := newSpace(t)
	source := s.open(procevents.Config{FrontEnd: nodeZone, Ring: procevents.DefaultRing}) // room for all records
	move := s.mover()
	at, moves := 0, 0
	place := func() {
		at, moves = 1-at, moves+1
		start := wire.PID(first + at*(block+gap))
		source.Allow(procevents.Range{First: start, End: start + block + gap})
		move(start)
		source.Arm(start + block/4)
	}
	place()
	place()
	s.run(fmt.Sprintf("while :; do a=$(sh -c 'echo $$'); [ $a -ge %d ] && [ $a -lt %d ] && break; done", first, first+block))
	source.Drain(func(procevents.Record) {})
	source.Notices()
	source.Arm(first + block/4) // the notice asked for before may be among those, from before the second move
	ctx, cancel := context.WithCancel(t.Context())
	strays, ended := make(map[wire.PID]bool), make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its priority
		if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20); err != nil {
			t.Error(err)
		}
		ended <- source.Attend(ctx, func(r procevents.Record) {
			if r.Kind == procevents.Stray {
				strays[r.PID] = true
			}
			if r.Kind != procevents.Filling && (r.Kind != procevents.Stray || source.Last() != 0) {
				place()
			}
		})
	}()
	s.run(fmt.Sprintf("for i in 1 2; do sh -c 'n=0; while [ $n -lt %d ]; do (:); n=$((n+1)); done' & done; wait", forks/2))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, r := range source.Notices() {
		strays[r.PID] = true
	}
	births, outside := 0, 0
	source.Drain(func(r procevents.Record) {
		if r.Kind != procevents.Forked {
			return
		}
		births++
		if r.PID < first || r.PID >= end {
			outside++
			if !strays[r.PID] {
				t.Errorf("number %d was not noticed", r.PID)
			}
		}
	})
	t.Logf("%d births in %d blocks, %d of them outside", births, moves, outside)
	if births < forks || moves < 3 || source.Lost() > 0 {
		t.Errorf("%d births, %d moves and %d lost records say nothing", births, moves, source.Lost())
	}
}

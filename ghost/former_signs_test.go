package ghost

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestFormerMark has a keeper die while its own signals to ghosts are pending. They are not signals
// for the processes.
func TestFormerMark(t *testing.T) {
	first := newFixture(t)
	pid := first.ghost(t, nobody, "g")
	first.stop(t, pid, unix.SIGTSTP)
	first.tell(t, &wire.GhostStop{PID: pid, Signal: uint8(unix.SIGTSTP)}) // it is stopped already, and the signal stays pending
	first.must(t, &wire.GhostFork{Parent: first.ghost(t, nobody, "p"), Child: 2400000})
	eventually(t, "a mark is pending", func() bool { return pendingOf(t, pid) != 0 })
	first.killKeeper(t)
	f := keeperAt(t, first.socket)
	if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if sig, _ := f.signal(t, pid); sig != unix.SIGCONT {
		t.Errorf("it got signal %d", sig)
	}
	eventually(t, "nothing is pending", func() bool { return pendingOf(t, pid) == 0 })
	f.must(t, &wire.GhostSync{PID: pid})
	f.quiet(t)
	f.end(t, pid, 0)
}

// pendingOf returns the set of signals that are pending for a process.
func pendingOf(t testing.TB, pid wire.PID) uint64 {
	t.Helper()
	text, err := readProc(pid, "status")
	if err != nil {
		t.Fatal(err)
	}
	var set [1]uint64
	if err := statusField(text, "ShdPnd:", 16, set[:]); err != nil {
		t.Fatal(err)
	}
	return set[0]
}

// abandon starts something in a ghost, and detaches in the middle of it, like a keeper that dies.
func abandon(t *testing.T, s *shard, pid wire.PID, do func(d *driven)) {
	t.Helper()
	if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
		t.Fatal(err)
	}
	g := s.ghosts[pid]
	s.poll(t)
	d, err := s.drive(g)
	if err != nil {
		t.Fatal(err)
	}
	do(d)
	if err := resume(unix.PTRACE_DETACH, pid, 0); err != nil {
		t.Fatal(err)
	}
	s.remove(g)
}

// TestFormerCall has a keeper die while a ghost makes a call for it. The next keeper must not
// report the call's signals as the process's.
func TestFormerCall(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	pid := formerly(t, 0, "g")
	abandon(t, s, pid, func(d *driven) {
		r := d.saved
		l := d.list()
		nap := l.put(appendWord(appendWord(nil, 3600), 0)) // struct timespec: longer than the test
		if err := d.write(piece{l.addr, l.data}); err != nil {
			t.Fatal(err)
		}
		r.begin(here.one, pid)
		r.call(newCalling(unix.SYS_NANOSLEEP, nap, 0))
		if err := r.set(pid); err != nil {
			t.Fatal(err)
		}
		if err := resume(unix.PTRACE_CONT, pid, 0); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it makes the call", func() bool { return callOf(t, pid) == unix.SYS_NANOSLEEP })
		if _, err := s.halt(d.g); err != nil {
			t.Fatal(err)
		}
	})
	if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is in its loop", func() bool { s.poll(t); return callOf(t, pid) == waitCall })
	s.says(t)
	s.end(t, s.ghosts[pid], wire.ExitStatus(0))
	wait(t, pid, 0)
}

// TestFormerSaid has a keeper die when a stopped ghost has just said that it is done.
func TestFormerSaid(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	pid := formerly(t, 0, "g")
	if err := unix.Kill(int(pid), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait(t, pid, unix.WUNTRACED)
	abandon(t, s, pid, func(d *driven) {
		r := d.saved
		r.begin(here.one, pid)
		r.call(newCalling(unix.SYS_GETPID))
		if err := r.set(pid); err != nil {
			t.Fatal(err)
		}
		for range 16 { // entry and exit of getpid, and of kill, perhaps between stops of the job's control
			if pendingOf(t, pid) != 0 {
				return
			}
			if err := resume(unix.PTRACE_SYSCALL, pid, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := s.next(d.g); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatal("it has not said so")
	})
	if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool { s.poll(t); return pendingOf(t, pid) == 0 && callOf(t, pid) == waitCall })
	s.says(t, fmt.Sprintf("signal %d to %d", unix.SIGCONT, pid))
	s.end(t, s.ghosts[pid], wire.ExitStatus(0))
	wait(t, pid, 0)
}

// waitCall is the system call in the image's loop.
var waitCall = map[string]int{"amd64": 34, "arm64": 73}[runtime.GOARCH]

// callOf returns the system call that a process is in; -1: none (proc_pid_syscall(5)).
func callOf(t testing.TB, pid wire.PID) int {
	t.Helper()
	text, err := readProc(pid, "syscall")
	if err != nil {
		t.Fatal(err)
	}
	number := -1
	if _, err := fmt.Sscan(string(text), &number); err != nil {
		return -1 // it is running
	}
	return number
}

// TestReportedFirst checks that a signal is reported before its ghost goes on: a keeper that dies
// then either leaves the signal to the ghost, or has reported it.
func TestReportedFirst(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	pid := formerly(t, 0, "g")
	if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
		t.Fatal(err)
	}
	state := ""
	done := make(chan struct{})
	close(done)
	if err := s.events.out.Run(done, io.Discard, func(buf []byte) int {
		state = statField(t, pid, 0)
		return len(buf)
	}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(int(pid), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report", func() bool { s.poll(t); return state != "" })
	if state != "t" {
		t.Errorf("the ghost's state is %s when its signal is told, want t", state)
	}
	s.end(t, s.ghosts[pid], wire.ExitStatus(0))
	wait(t, pid, 0)
}

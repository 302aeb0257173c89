package scout

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// start starts the scout of a directory.
func start(t *testing.T, at string) *Scout {
	t.Helper()
	s, err := Start([]string{programName}, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := unix.Kill(s.cmd.Process.Pid, 0); err != unix.ESRCH {
			t.Errorf("the scout is still there: %v", err)
		}
	})
	return s
}

// these returns a function that returns numbers, one after the other.
func these(pids []wire.PID) func() (wire.PID, bool) {
	return func() (wire.PID, bool) {
		if len(pids) == 0 {
			return 0, false
		}
		pid := pids[0]
		pids = pids[1:]
		return pid, true
	}
}

// TestLook checks that the scout opens each directory, and those alone, and says so once.
func TestLook(t *testing.T) {
	at := t.TempDir()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	var pids []wire.PID
	of := map[int]wire.PID{}
	for i := range 2*window + 3 {
		pid := wire.PID(1 + 5*i)
		dir := filepath.Join(at, pid.String())
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		descriptor, err := unix.InotifyAddWatch(watch, dir, unix.IN_CLOSE_NOWRITE|unix.IN_ONLYDIR)
		if err != nil {
			t.Fatal(err)
		}
		of[descriptor] = pid
		pids = append(pids, pid)
	}
	s := start(t, at)
	if err := s.List(); err != nil {
		t.Fatal(err)
	}
	asked := append(slices.Clone(pids[:len(pids)-1]), 1<<22-1) // one does not exist, one is not asked for
	var looked []wire.PID
	if err := s.Look(these(asked), func(pid wire.PID) { looked = append(looked, pid) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(looked)
	if !slices.Equal(looked, asked) {
		t.Errorf("looked into %d, want %d", looked, asked)
	}
	opened := map[wire.PID]int{}
	for buf := make([]byte, 4096); ; {
		n, err := unix.Read(watch, buf)
		if err != nil {
			break // EAGAIN
		}
		for ; n > 0; n -= unix.SizeofInotifyEvent {
			opened[of[int(buf[0])|int(buf[1])<<8]]++
			copy(buf, buf[unix.SizeofInotifyEvent:])
		}
	}
	for _, pid := range pids[:len(pids)-1] {
		if opened[pid] != 1 {
			t.Errorf("%d was opened %d times", pid, opened[pid])
		}
	}
	if last := pids[len(pids)-1]; opened[last] != 0 {
		t.Errorf("%d was opened", last)
	}
}

// TestThreads checks that the scout's threads are known, and that it leaves nothing open.
func TestThreads(t *testing.T) {
	at := t.TempDir()
	s := start(t, at)
	if err := s.List(); err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid))
	for _, thread := range s.threads {
		if _, err := os.Stat(filepath.Join(proc, "task", strconv.Itoa(int(thread)))); err != nil || !s.Is(thread) {
			t.Errorf("thread %d: %v, %v", thread, err, s.Is(thread))
		}
	}
	if s.Is(uint32(os.Getpid())) || (*Scout)(nil).Is(1) {
		t.Error("a thread of another process is the scout's")
	}
	if s.Worked() <= 0 || (*Scout)(nil).Worked() != 0 {
		t.Errorf("the scout worked for %v", s.Worked())
	}
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name())); strings.HasPrefix(to, at) {
			t.Errorf("the scout has %s open", to)
		}
	}
}

// TestKilledScout checks that nobody waits for a scout that is dead.
func TestKilledScout(t *testing.T) {
	s := start(t, t.TempDir())
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Look(these([]wire.PID{1, 2, 3}), func(pid wire.PID) { t.Errorf("it has answered for %d", pid) }); err == nil {
			t.Error("no error")
		}
	}
}

// TestStoppedScout checks that nothing waits for a scout that is stopped when it is not needed any more.
func TestStoppedScout(t *testing.T) {
	s := start(t, t.TempDir()) // which closes it, too
	if err := s.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Look(these([]wire.PID{1}), func(wire.PID) {}) }()
	s.Kill()
	if err := <-failed; err == nil {
		t.Error("a killed scout has answered")
	}
	if s.Is(s.threads[0]) {
		t.Error("a dead scout has threads")
	}
}

// TestMemory checks that the scout, whose memory is never collected, needs no more of it after many looks.
func TestMemory(t *testing.T) {
	at := t.TempDir()
	if err := os.Mkdir(filepath.Join(at, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, at)
	size := func() int {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "statm"))
		if err != nil {
			t.Fatal(err)
		}
		pages, err := strconv.Atoi(strings.Fields(string(text))[1])
		if err != nil {
			t.Fatal(err)
		}
		return pages * os.Getpagesize()
	}
	few := slices.Repeat([]wire.PID{1}, piece+1) // one task is full, one is not
	looks := func(count int) {
		for range count {
			if err := s.Look(these(few), func(wire.PID) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	looks(100)
	before := size()
	const (
		count = 20000
		most  = 4 << 20 // the race detector's own, and less than a task for each look
	)
	looks(count)
	if grown := size() - before; grown > most {
		t.Errorf("the scout has grown by %d bytes in %d looks", grown, count)
	}
}

// TestNoScout checks that a program that ends without an answer is no scout.
func TestNoScout(t *testing.T) {
	if s, err := Start([]string{endsName}, t.TempDir()); err == nil {
		t.Error("a program that answers nothing is a scout", s.Close())
	}
}

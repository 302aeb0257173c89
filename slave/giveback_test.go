package slave

import (
	"os"
	"os/exec"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// TestNumbersRest has blocks that are spare for a while, and then for long.
func TestNumbersRest(t *testing.T) {
	now := time.Now()
	s := newMadeUpSpace()
	first, second, third := wire.Block{First: firstPID, Count: 100}, wire.Block{First: secondPID, Count: 100}, wire.Block{First: thirdPID, Count: 100}
	s.cursor = pidmap.NewCursor(second)
	s.grant(t, first, second, third)
	rested := func(when string, after time.Duration, want ...wire.Block) {
		t.Helper()
		now = now.Add(after)
		if got := s.rested(now); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	rested("at first", 0)
	rested("a little later", restTime/2)
	for n := range wire.PID(60) {
		s.life(firstPID+n, 1)
	}
	rested("when it may be needed", restTime)
	for n := range wire.PID(60) {
		s.life(firstPID+n, -1)
	}
	s.count = 60
	rested("when threads may need it", restTime)
	s.count = 0
	rested("when it is not any more", 0)
	rested("not for long", restTime-1)
	if got := s.cursor.Refuge(); got != second {
		t.Errorf("the way out is %v", got)
	}
	s.life(secondPID, 1)
	s.fences = nil
	rested("for long", 1, third)
	if want := [][2]wire.Block{{first, second}}; !reflect.DeepEqual(s.fences, want) {
		t.Errorf("fences %v, want %v: nobody goes to what is given back", s.fences, want)
	}
	s.life(secondPID, -1)
	if got := s.blocks(); len(got) != 3 {
		t.Errorf("got %v: what is not given back yet is still the node's", got)
	}
	if back := s.release(func(wire.Block) bool { return false }); back != nil {
		t.Errorf("gives %v back, which is in use", back)
	}
	if got := s.cursor.Blocks(); len(got) != 3 {
		t.Errorf("got %v: what is in use stays", got)
	}
	rested("again", restTime)
	rested("again for long", restTime, third)
	if back := s.release(func(b wire.Block) bool { return b == third }); !reflect.DeepEqual(back, []wire.Block{third}) {
		t.Errorf("gives %v back", back)
	}
	if got := s.blocks(); !reflect.DeepEqual(got, []wire.Block{first, second}) {
		t.Errorf("got %v, want the two others", got)
	}
	rested("that at home, and that where the cursor is", 0)
	rested("for very long", 2*restTime)
}

// TestInUse looks at this machine: numbers of processes, threads, groups and sessions.
func TestInUse(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & read x")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leader := cmd.Process.Pid
	defer syscall.Kill(-leader, syscall.SIGKILL)
	input.Close()
	if err := cmd.Wait(); err == nil {
		t.Log("the shell has ended")
	}
	used, err := inUse(procevents.Proc("/proc"))
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{
		"this process": os.Getpid(), "this thread": syscall.Gettid(), "the number of a session whose leader has ended": leader,
	} {
		if !slices.Contains(used, wire.PID(n)) {
			t.Errorf("%s, %d, is not in use", what, n)
		}
	}
}

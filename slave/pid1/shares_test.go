package pid1_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestNobodyTakesAllLaunches has a user start processes whose standard input is a named pipe
// without a writer, more than can be under way. Others can start theirs, and init serves the
// daemon's own requests.
func TestNobodyTakesAllLaunches(t *testing.T) {
	const greedy, other, many = 12345, 12346, 512 + 8 // alone, one gets half of the places
	s := newSpace(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(fifo)), 0o755); err != nil { // other users must get there
		t.Fatal(err)
	}
	sp := func(pid wire.PID, uid uint32) *wire.Spawn {
		sp := command(pid, 0, 0, "true")
		sp.UID, sp.GID = uid, uid
		return sp
	}
	for i := range wire.PID(many) {
		waits := sp(70000+i, greedy)
		waits.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorFile, Path: fifo}
		s.begin(waits)
		if i < 512 {
			continue
		}
		if m := s.answered(70000 + i); unix.Errno(m.Errno) != unix.EAGAIN {
			t.Errorf("launch %d of one user: stage %d, %v, want EAGAIN", i, m.Stage, unix.Errno(m.Errno))
		}
	}
	s.launch(sp(80000, other))
	s.launch(sp(80001, 0))
	if errno := s.ask(&wire.InitGroup{SID: 60000, PGID: 60001}); errno != 0 {
		t.Errorf("a group: %v", errno)
	}
	for i := range wire.PID(many) {
		s.signal(70000+i, unix.SIGKILL)
	}
	for i := range wire.PID(many) {
		s.answered(70000 + i)
	}
	s.launch(sp(80002, greedy))
}

package pid1_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestManyHangUps hangs up thousands of sessions at once, as after the end of a client with as many
// commands. Init must not read the files of all processes for each of them.
func TestManyHangUps(t *testing.T) {
	s := newSpace(t)
	s.conn.Close()
	sock := s.dial()
	raw, err := sock.File()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	s.connectBy(sock)
	const processes, sessions = 20, 2000
	for i := range wire.PID(processes) {
		s.launch(command(70000+i, 70000+i, 70000+i, "sleep", "600"))
	}
	var hangUps []byte // a single write: init finds all of them when it reads the first
	ask := func(sid wire.PID) {
		if hangUps, err = wire.Append(hangUps, 0, &wire.InitHangUp{SID: sid}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range wire.PID(sessions) {
		ask(90000 + i)
	}
	for i := range wire.PID(processes) {
		ask(70000 + i)
	}
	before := s.reads()
	if _, err := raw.Write(hangUps); err != nil {
		t.Fatal(err)
	}
	for i := range wire.PID(processes) {
		if status := s.awaitStatus(70000+i, over); status.Signal() != unix.SIGHUP {
			t.Errorf("status of %d is %#x, want SIGHUP", 70000+i, status)
		}
	}
	reads := s.reads() - before
	if t.Logf("%d reads", reads); reads > sessions*processes/4 {
		t.Errorf("init has read %d times for %d sessions and %d processes", reads, sessions, processes)
	}
}

// reads returns how often init has called read(2) and its like.
func (s *space) reads() (n int) {
	s.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.init.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "syscr: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		s.tb.Fatal(err)
	}
	return n
}

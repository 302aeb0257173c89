package pid1_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// restart becomes the next daemon, after the death of this one.
func (s *space) restart() {
	s.tb.Helper()
	if err := s.conn.Close(); err != nil {
		s.tb.Fatal(err)
	}
	s.connect()
}

// Requests that a daemon wrote before it died are carried out before the next daemon is
// greeted.
func TestRequestsOfADeadDaemon(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 0, 0, "sleep", "1000"))
	for range 200 {
		s.send(&wire.InitDrop{Name: "nothing"})
	}
	s.signal(70001, unix.SIGKILL)
	s.send(&wire.InitStore{Name: "null"}, s.null())
	s.restart()
	if len(s.stored["null"]) != 1 {
		t.Errorf("stored: %v, want null", s.stored)
	}
	s.awaitStatus(70001, over)
}

// The same holds for a daemon that lives but is replaced.
func TestRequestsOfADaemonThatIsReplaced(t *testing.T) {
	s := newSpace(t)
	old := s.conn
	s.send(&wire.InitStore{Name: "null"}, s.null())
	s.connect()
	if len(s.stored["null"]) != 1 {
		t.Errorf("stored: %v, want null", s.stored)
	}
	if err := old.Write(1, &wire.InitDrop{Name: "null"}); err == nil {
		t.Error("the daemon that was replaced can still write")
	}
}

// null opens a descriptor.
func (s *space) null() int {
	s.tb.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

// The ends of launched processes, and failed launches, are reported to each daemon until one says
// to forget them.
func TestEndsAreToldUntilForgotten(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 0, 0, "sh", "-c", "exit 3"))
	s.awaitStatus(70001, over)
	s.begin(command(70002, 0, 0, "no-such-command"))
	s.answered(70002)
	for range 2 {
		s.restart()
		if want := []wire.PID{70001}; !slices.Equal(s.ready.PIDs, want) {
			t.Errorf("processes %v, want %v", s.ready.PIDs, want)
		}
		if status := s.awaitStatus(70001, over); status.ExitStatus() != 3 {
			t.Errorf("status %#x, want exit 3", status)
		}
		if m := s.answered(70002); m.Stage != wire.StageExec || unix.Errno(m.Errno) != unix.ENOENT {
			t.Errorf("stage %d, %v, want ENOENT", m.Stage, unix.Errno(m.Errno))
		}
	}
	s.send(&wire.InitForget{PIDs: []wire.PID{70001}})
	s.restart()
	s.answered(70002)
	if len(s.ready.PIDs) > 0 || len(s.statuses[70001]) > 0 {
		t.Errorf("processes %v, statuses %v of what is forgotten", s.ready.PIDs, s.statuses)
	}
	s.launch(command(70002, 0, 0, "sleep", "1000")) // with the number of one that failed
	s.restart()
	s.ask(&wire.InitSync{})
	if want := []wire.PID{70002}; !slices.Equal(s.ready.PIDs, want) || s.launched[70002] != nil {
		t.Errorf("processes %v, launches %v, want %v and none", s.ready.PIDs, s.launched, want)
	}
}

// The next daemon learns the result of a launch that was under way.
func TestLaunchUnderWay(t *testing.T) {
	for _, c := range []struct {
		name, command string
		stage         wire.Stage
	}{
		{"command that is there", "true", 0},
		{"command that is not", "no-such-command", wire.StageExec},
	} {
		t.Run(c.name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			s := newSpace(t)
			sp := command(70001, 0, 0, c.command)
			sp.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorFile, Path: fifo} // open waits
			s.begin(sp)
			s.restart()
			if want := []wire.PID{70001}; !slices.Equal(s.ready.PIDs, want) || !slices.Equal(s.ready.Starting, want) {
				t.Errorf("processes %v, starting %v, want %v", s.ready.PIDs, s.ready.Starting, want)
			}
			f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if m := s.answered(70001); m.Stage != c.stage {
				t.Errorf("stage %d, want %d", m.Stage, c.stage)
			}
			if c.stage == 0 {
				s.awaitStatus(70001, over)
			}
		})
	}
}

// A process gets a signal with a number only once.
func TestSignalsAreNotRepeated(t *testing.T) {
	s := newSpace(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sp := command(70001, 0, 0, "sh", "-c", "trap 'echo usr1' USR1; trap 'echo usr2; exit' USR2; echo ready; while :; do sleep 0.01; done")
	sp.Command.Stdio[1] = wire.Descriptor{Mode: wire.DescriptorStream}
	s.launch(sp, int(w.Fd()))
	w.Close()
	lines := bufio.NewScanner(r)
	_ = r.SetReadDeadline(time.Now().Add(patience))
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, %v, want %q", lines.Text(), lines.Err(), want)
		}
	}
	expect("ready")
	s.signalNumbered(70001, unix.SIGUSR1, 7)
	expect("usr1")
	s.restart()
	s.signalNumbered(70001, unix.SIGUSR1, 7)
	s.signalNumbered(70001, unix.SIGUSR1, 6)
	s.ask(&wire.InitSync{})
	s.signalNumbered(70001, unix.SIGUSR2, 8)
	expect("usr2")
}

// A process that ends while a daemon connects is among the children that the daemon is told of,
// with its status to come.
func TestEndDuringTakeover(t *testing.T) {
	s := newSpace(t)
	for i := range 50 {
		pid := wire.PID(70001 + i)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		sp := command(pid, 60001, 60000, "cat")
		sp.Command.Stdio[0].Mode = wire.DescriptorStream
		s.launch(sp, int(r.Fd()))
		r.Close()
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		w.Close() // the process ends
		for !s.ended(pid) {
			continue
		}
		s.connect()
		if !slices.Contains(s.ready.PIDs, pid) {
			t.Fatalf("round %d: children %v, want %d among them", i, s.ready.PIDs, pid)
		}
		if extra, _ := s.standins(); slices.ContainsFunc(s.ready.PIDs, func(pid wire.PID) bool { return slices.Contains(extra, pid) }) {
			t.Fatalf("children %v, with stand-ins among them", s.ready.PIDs)
		}
		s.awaitStatus(pid, over)
	}
}

// ended reports whether a process is a zombie or gone.
func (s *space) ended(pid wire.PID) bool {
	stat, err := os.ReadFile(filepath.Join(s.proc, pid.String(), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

package pid1_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// after returns a time of CLOCK_BOOTTIME.
func after(t *testing.T, d time.Duration) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano() + d.Nanoseconds()
}

// The daemon that connects may be the first to find that the deadline has passed: init was frozen
// until then.
func TestDeadlineBeforeTheNextDaemon(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "sleep", "1000"))
	s.send(&wire.InitDeadline{At: after(t, -time.Second)})
	s.restart()
	if status := s.awaitStatus(70001, over); status.Signal() != unix.SIGKILL {
		t.Errorf("status %#x, want SIGKILL", status)
	}
	s.launch(command(70001, 60001, 60000, "true"))
	if status := s.awaitStatus(70001, over); !status.Exited() {
		t.Errorf("status %#x of a process that was started after the deadline", status)
	}
}

// A daemon that hangs reads no answers, so init cannot read the requests after them. That does not
// put the deadline off.
func TestDeadlineOfADaemonThatHangs(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "sleep", "1000"))
	s.send(&wire.InitDeadline{At: after(t, time.Second)})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for number := uint64(1000); s.conn.Write(number, &wire.InitSync{}) == nil; number++ {
			continue // until init reads no more, and then until the connection is closed
		}
	}()
	s.until("the end of the process", func() bool { return s.ended(70001) })
	if err := s.conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	s.connect()
	if status := s.awaitStatus(70001, over); status.Signal() != unix.SIGKILL {
		t.Errorf("status %#x, want SIGKILL", status)
	}
}

// While init is stopped, a deadline passes that the daemon has moved meanwhile.
func TestDeadlineThatIsMovedWhileInitIsFrozen(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 0, 0, "sleep", "1000"))
	s.send(&wire.InitDeadline{At: after(t, time.Second)})
	s.ask(&wire.InitSync{})
	init := s.init.Process
	if err := init.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for moment := after(t, 1100*time.Millisecond); after(t, 0) < moment; time.Sleep(time.Millisecond) {
		continue
	}
	for range 100 {
		s.send(&wire.InitDrop{Name: "nothing"})
	}
	s.send(&wire.InitDeadline{At: after(t, time.Hour)})
	if err := init.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.ask(&wire.InitSync{})
	s.launch(command(70002, 0, 0, "sleep", "0.1"))
	s.awaitStatus(70002, over)
	if len(s.statuses[70001]) > 0 {
		t.Errorf("statuses %v of a process whose deadline was moved", s.statuses[70001])
	}
}

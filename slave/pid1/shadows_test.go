package pid1_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A shadow has another number than its process, is made once, is kept for the next daemon, and is
// ended by its descriptor.
func TestShadow(t *testing.T) {
	s := newSpace(t)
	for _, c := range []struct {
		pid  wire.PID
		want unix.Errno
	}{
		{4711, 0},
		{4711, 0},
		{1 << 21, 0},
		{0, unix.EINVAL},
		{-1, unix.EINVAL},
	} {
		if got := s.ask(&wire.InitShadow{PID: c.pid, UID: 1000}); got != c.want {
			t.Errorf("shadow of %d: got %v, want %v", c.pid, got, c.want)
		}
	}
	if numbers, between := s.standins(); len(numbers) != 0 || len(between) != 3 {
		t.Fatalf("stand-ins %v, between the zones %v; want none, and two shadows and the fencer", numbers, between)
	}
	// None is in the way of a process.
	s.launch(command(70001, 70001, 70001, "sleep", "1000"))

	s.connect()
	kept := s.stored["shadow 4711 1000"]
	if len(kept) != 1 || len(s.stored) != 2 {
		t.Fatalf("kept: %v", s.stored)
	}
	if err := unix.PidfdSendSignal(kept[0], unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	ended := []unix.PollFd{{Fd: int32(kept[0]), Events: unix.POLLIN}}
	if n, err := unix.Poll(ended, int(patience.Milliseconds())); n != 1 || err != nil {
		t.Fatalf("poll: %d, %v", n, err)
	}
	// A shadow that has ended is replaced, reaped or not.
	if got := s.ask(&wire.InitShadow{PID: 4711, UID: 1000}); got != 0 {
		t.Errorf("another shadow: %v", got)
	}
	s.connect()
	another := s.stored["shadow 4711 1000"]
	if len(another) != 1 {
		t.Fatalf("kept: %v", s.stored)
	}
	if err := unix.PidfdSendSignal(another[0], 0, nil, 0); err != nil {
		t.Errorf("the other shadow: %v", err)
	}
}

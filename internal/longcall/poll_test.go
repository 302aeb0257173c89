package longcall_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

func TestPoll(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	fds := []unix.PollFd{{Fd: int32(pipe[0]), Events: unix.POLLIN}}
	if n, err := longcall.Poll(fds, time.Millisecond); n != 0 || err != nil {
		t.Errorf("with nothing to read: %d, %v", n, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { unix.Close(pipe[1]) })
	if n, err := longcall.Poll(fds, -1); n != 1 || err != nil || fds[0].Revents&unix.POLLHUP == 0 {
		t.Errorf("at the end of the file: %d, %v, events %#x", n, err, fds[0].Revents)
	}
	fds[0].Fd = int32(pipe[0]) + 0x10000
	if n, err := longcall.Poll(fds[:1], -1); n != 1 || fds[0].Revents != unix.POLLNVAL {
		t.Errorf("without a descriptor: %d, %v, events %#x", n, err, fds[0].Revents)
	}
}

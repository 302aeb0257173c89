package pidfd_test

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/pidfd"
)

func TestEnded(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if pidfd.Ended(fd, 0) || pidfd.Ended(fd, 10*time.Millisecond) {
		t.Error("a process that runs has ended")
	}
	stdin.Close()
	if !pidfd.Ended(fd, time.Minute) {
		t.Error("a process that has ended, but is not reaped, lives")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !pidfd.Ended(fd, 0) {
		t.Error("a process that was reaped lives")
	}
	if pidfd.Ended(-1, 0) {
		t.Error("a process without a descriptor has ended")
	}
}

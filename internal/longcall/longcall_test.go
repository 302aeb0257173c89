package longcall_test

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

// TestWait4 waits on several threads concurrently while the garbage collector runs.
func TestWait4(t *testing.T) {
	var group sync.WaitGroup
	for code := range 8 {
		group.Go(func() {
			cmd := exec.Command("/bin/sh", "-c", "sleep 0.05; exit $0", string(rune('0'+code)))
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			var status unix.WaitStatus
			pid, err := longcall.Wait4(cmd.Process.Pid, &status, 0)
			if err != nil || pid != cmd.Process.Pid || status.ExitStatus() != code {
				t.Errorf("got %d, %v, status %#x; want %d, exit code %d", pid, err, status, cmd.Process.Pid, code)
			}
		})
	}
	runtime.GC()
	group.Wait()
	if _, err := longcall.Wait4(-1, new(unix.WaitStatus), 0); !errors.Is(err, unix.ECHILD) {
		t.Errorf("without children: %v", err)
	}
}

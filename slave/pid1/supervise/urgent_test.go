package supervise

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHurry(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nice := func() int {
		t.Helper()
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err != nil {
			t.Fatal(err)
		}
		return 20 - raw
	}
	before := nice()
	restore := hurry()
	if got := nice(); got != mostUrgent {
		t.Errorf("in a hurry: nice value %d, want %d", got, mostUrgent)
	}
	restore()
	if got := nice(); got != before {
		t.Errorf("afterwards: nice value %d, want %d", got, before)
	}
}

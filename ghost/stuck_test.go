package ghost

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestStarvedIsNotStuck checks that a ghost that has often been late is not taken for stuck because it
// gets no processor.
func TestStarvedIsNotStuck(t *testing.T) {
	const long = stuckTime / 2
	for name, tt := range map[string]struct {
		script string
		signal unix.Signal
		state  string
		stuck  bool
	}{
		"ready":   {"while :; do :; done", 0, "R", false},
		"waiting": {"read line", 0, "S", true},
		"stopped": {"while :; do :; done", unix.SIGSTOP, "T", true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", tt.script)
			if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			pid := wire.PID(cmd.Process.Pid)
			eventually(t, "the process is "+tt.state, func() bool { return statField(t, pid, 0) == tt.state })
			often := &tree{lates: 6}
			if got := often.stuckAt(long, pid); got != tt.stuck {
				t.Errorf("stuck after %v: got %t, want %t", long, got, tt.stuck)
			}
			if !often.stuckAt(stuckTime, pid) {
				t.Errorf("not stuck after %v", stuckTime)
			}
		})
	}
	if (&tree{lates: 6}).stuckAt(time.Millisecond, 1) {
		t.Error("stuck at once")
	}
}

package master

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"bproc/wire"
)

// TestEndIsSeen checks that the end of a process is reported, and not before, and that nothing is
// reported after the question was forgotten.
func TestEndIsSeen(t *testing.T) {
	var w exits
	for _, c := range []struct {
		name string
		end  func(cmd *exec.Cmd) error
		told bool
	}{
		{"end", func(cmd *exec.Cmd) error { return cmd.Process.Kill() }, true},
		{"forget", func(*exec.Cmd) error { w.forget(7); return nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
			var f *os.File
			f, err := (kernel{}).open(wire.PID(cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan struct{}, 1)
			w.follow(t.Context(), f, 7, func() { told <- struct{}{} })
			select {
			case <-told:
				t.Fatal("told before")
			case <-time.After(20 * time.Millisecond):
			}
			if err := c.end(cmd); err != nil {
				t.Fatal(err)
			}
			w.group.Wait()
			if got := len(told) == 1; got != c.told || len(w.files) != 0 {
				t.Errorf("told: %v, want %v; %d files are left", got, c.told, len(w.files))
			}
		})
	}
}

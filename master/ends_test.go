package master

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"bproc/test/limit"
	"bproc/wire"
)

// TestEndIsSeen has the end of a process told, and not before, and the closing of its
// file, too.
func TestEndIsSeen(t *testing.T) {
	posted := make(chan func(*core), 1)
	w := follower{post: func(_ context.Context, input func(*core)) error { posted <- input; return nil }}
	for _, c := range []struct {
		name  string
		ended func(cmd *exec.Cmd, file interface{ Close() error }) error
	}{
		{"end", func(cmd *exec.Cmd, _ interface{ Close() error }) error { return cmd.Process.Kill() }},
		{"close", func(_ *exec.Cmd, file interface{ Close() error }) error { return file.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
			f, err := (kernel{}).Open(wire.PID(cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			told := false
			w.follow(t.Context(), f, func() { told = true })
			select {
			case <-posted:
				t.Fatal("told before")
			case <-time.After(20 * time.Millisecond):
			}
			if err := c.ended(cmd, f); err != nil {
				t.Fatal(err)
			}
			select {
			case input := <-posted:
				input(nil)
			case <-time.After(limit.Scaled(15 * time.Second)):
				t.Fatal("not told")
			}
			if !told {
				t.Error("another was told")
			}
		})
	}
	w.group.Wait()
}

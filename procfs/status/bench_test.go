package status_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"bproc/procfs/status"
	"bproc/wire"
)

// BenchmarkRefresh measures the cost of telling nothing, with both markers, and of telling
// everything, with 10,000 idle processes.
func BenchmarkRefresh(b *testing.B) {
	s := newSpace(b)
	c := s.collector()
	program := filepath.Join(b.TempDir(), "crowd")
	if out, err := exec.Command("gcc", "-O2", "-o", program, "../../test/cluster/bench/testdata/crowd.c").CombinedOutput(); err != nil {
		b.Fatalf("compile: %v: %s", err, out)
	}
	if got := s.run("sleep 1000 | " + program + " 10000 &"); got != "ready" {
		b.Fatal(got)
	}
	refresh := func(v *status.View) {
		c.Forget()
		if err := v.Refresh(false, func(*wire.Changed) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			refresh(c.View(true))
		}
	})
	for name, by := range markers {
		b.Run("none by "+name, func(b *testing.B) {
			if err := by(c); err != nil {
				b.Fatal(err)
			}
			v := c.View(true)
			refresh(v)
			for b.Loop() {
				refresh(v)
			}
		})
	}
}

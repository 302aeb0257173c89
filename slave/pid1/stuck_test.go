package pid1_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestAllAreKilledBeforeTheyExecute ends processes whose standard input is a named pipe without a
// writer, whether they are born by then or not.
func TestAllAreKilledBeforeTheyExecute(t *testing.T) {
	for _, c := range []struct {
		name string
		ends func(*space)
	}{
		{"all are killed", func(s *space) { s.send(&wire.InitKillAll{}) }},
		{"the lease has run out", func(s *space) { s.send(&wire.InitDeadline{At: after(t, -time.Second)}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpace(t)
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			const count = 200 // some are born before, and some after
			for i := range wire.PID(count) {
				sp := command(70000+i, 0, 0, "true")
				sp.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorFile, Path: fifo}
				s.begin(sp)
			}
			c.ends(s)
			for i := range wire.PID(count) {
				s.answered(70000 + i)
			}
			s.launch(command(80000, 0, 0, "true"))
		})
	}
}

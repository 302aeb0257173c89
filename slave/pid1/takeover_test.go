package pid1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/wire"
)

// A process that ends while a daemon connects is either among the children that
// the daemon is told of, with its status to come, or still a child.
func TestEndDuringTakeover(t *testing.T) {
	s := newSpace(t)
	for i := range 50 {
		pid := wire.PID(70001 + i)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		sp := command(pid, 60001, 60000, "cat")
		sp.Command.Stdio[0].Mode = wire.DescriptorStream
		s.launch(sp, int(r.Fd()))
		r.Close()
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		w.Close() // the process ends
		for !s.ended(pid) {
			continue
		}
		s.connect()
		if !slices.Contains(s.ready, pid) {
			t.Fatalf("round %d: children %v, want %d among them", i, s.ready, pid)
		}
		if extra, _ := s.standins(); slices.ContainsFunc(s.ready, func(pid wire.PID) bool { return slices.Contains(extra, pid) }) {
			t.Fatalf("children %v, with stand-ins among them", s.ready)
		}
		s.awaitStatus(pid, over)
	}
}

// ended reports whether a process is a zombie or is no more.
func (s *space) ended(pid wire.PID) bool {
	stat, err := os.ReadFile(filepath.Join(s.proc, pid.String(), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// Orders to a storm (testdata/conform/storm.c).
const (
	stormChurns = iota
	stormHolds
	stormEnds
)

// storm is a program on node 1 that changes its process tree all the time.
type storm struct {
	*conversation
	wanted, changes *atomic.Int32 // in a file that the program shares
}

func newStorm(t *testing.T, c *cluster.Cluster, at place) *storm {
	t.Helper()
	path := filepath.Join(scratch(t), "control")
	if err := os.WriteFile(path, make([]byte, 8), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shared, err := unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(shared) })
	s := &storm{
		conversation: converse(t, c, cluster.Alice, at, conform(t, "storm"), path),
		wanted:       (*atomic.Int32)(unsafe.Pointer(&shared[0])),
		changes:      (*atomic.Int32)(unsafe.Pointer(&shared[4])),
	}
	if line, _ := s.line(); line != "ready" {
		t.Fatalf("got %q, want ready", line)
	}
	return s
}

// goesOn waits until the storm has made n more changes.
func (s *storm) goesOn(n int32) {
	s.t.Helper()
	begin := s.changes.Load()
	cluster.Eventually(s.t, fmt.Sprintf("%d more changes", n), func() error {
		if made := s.changes.Load() - begin; made < n {
			return fmt.Errorf("%d changes", made)
		}
		return nil
	})
}

// hold pauses the storm and verifies its tree.
func (s *storm) hold() {
	s.t.Helper()
	s.wanted.Store(stormHolds)
	if line, _ := s.line(); line != "held" {
		s.t.Fatalf("got %q, want held", line)
	}
}

func (s *storm) end() {
	s.t.Helper()
	s.wanted.Store(stormEnds)
	if got, want := s.rest(), []string{"exit code 0"}; !slices.Equal(got, want) {
		s.t.Errorf("got %q, want %q", got, want)
	}
}

// TestForksOverCutLink cuts a node off while processes are born and end there: that goes on, and
// soon after the cut the front end shows exactly the existing processes.
func TestForksOverCutLink(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	t.Run(native.name, func(t *testing.T) {
		s := newStorm(t, c, native)
		s.goesOn(50)
		s.hold()
		s.end()
	})
	t.Run(onNode.name, func(t *testing.T) {
		s := newStorm(t, c, onNode)
		s.also = func(all claims) error { return onlyClaimed(c, all) }
		s.goesOn(50)
		s.hold()
		for range 3 {
			if err := c.Cut(1); err != nil {
				t.Fatal(err)
			}
			s.goesOn(200)
			if err := c.Heal(1); err != nil {
				t.Fatal(err)
			}
			s.hold()
		}
		s.goesOn(50)
		s.end()
		cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	})
}

// onlyClaimed checks that all ghosts are those of claimed processes.
func onlyClaimed(c *cluster.Cluster, all claims) error {
	ghosts, err := c.Front.Ghosts()
	if err != nil {
		return err
	}
	for _, g := range ghosts {
		if _, ok := all[g.PID]; !ok {
			return fmt.Errorf("ghost %d %s has no process", g.PID, strings.Join(g.Args, " "))
		}
	}
	return nil
}

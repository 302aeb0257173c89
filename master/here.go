package master

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"golang.org/x/sync/errgroup"

	"bproc/master/core"
	"bproc/procfs/status"
	"bproc/wire"
)

// here answers looks at the front end's own processes, as a slave answers looks at a node's. Ghosts
// are left out.
type here struct {
	proc   *os.File
	server *status.Server
	shows  errgroup.Group
}

// newHere returns the server for such looks.
func (m *Master) newHere() (*here, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("procfs of the front end: %w", err)
	}
	return &here{proc: proc, server: status.NewServer(status.Config{
		Proc: proc, Log: m.log,
		Parent: func(wire.PID) wire.PID { return 0 }, // the front end's kernel knows all parents
		Hidden: func() func(wire.PID) bool { return m.ghosts() },
	}, func() uint64 { return 0 })}, nil
}

// ghosts returns a function that reports whether a process of the front end is a ghost.
func (m *Master) ghosts() func(wire.PID) bool {
	var all map[wire.PID]bool
	m.state.look(func(c *core.Core) { all = c.Ghosts() })
	return func(pid wire.PID) bool { return all[pid] }
}

// open returns a stream like one to a node, which begins with Show or Fetch.
func (h *here) open(first wire.Message) stream {
	ours, theirs := net.Pipe()
	h.shows.Go(func() error {
		defer theirs.Close()
		reader := wire.NewReader(theirs)
		switch first := first.(type) {
		case *wire.Show:
			return h.server.Show(theirs, reader, first)
		case *wire.Fetch:
			return h.server.Fetch(theirs, reader, first)
		}
		return core.ErrUnexpected
	})
	return ours
}

// close waits for the ends of all streams.
func (h *here) close(log *slog.Logger) {
	_ = h.shows.Wait() // an error concerns one stream
	if err := h.server.Close(h.proc); err != nil {
		log.Warn("reading procfs of the front end", "err", err)
	}
}

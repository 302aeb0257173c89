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

// here answers those who look at the front end's own processes, as a slave answers those
// who look at a node's. Ghosts are none of them.
type here struct {
	proc   *os.File
	server *status.Server
	shows  errgroup.Group
}

// newHere returns what answers.
func (m *Master) newHere() (*here, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("procfs of the front end: %w", err)
	}
	return &here{proc: proc, server: status.NewServer(status.Config{
		Proc: proc, Log: m.log,
		Parent: func(wire.PID) wire.PID { return 0 }, // its kernel knows all
		Hidden: func() func(wire.PID) bool { return m.ghosts() },
	}, func() uint64 { return 0 })}, nil
}

// ghosts returns which processes of the front end are ghosts.
func (m *Master) ghosts() func(wire.PID) bool {
	var all map[wire.PID]bool
	m.state.look(func(c *core.Core) { all = c.Ghosts() })
	return func(pid wire.PID) bool { return all[pid] }
}

// open returns a stream as that to a node, which begins with Show or Fetch.
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
	_ = h.shows.Wait() // an error is that of a stream
	if err := h.server.Close(h.proc); err != nil {
		log.Warn("reading procfs of the front end", "err", err)
	}
}

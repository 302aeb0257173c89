package master

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

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

// newHere returns what answers until the context ends.
func (m *Master) newHere(ctx context.Context) (*here, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("procfs of the front end: %w", err)
	}
	return &here{proc: proc, server: status.NewServer(status.Config{
		Proc: proc, Log: m.log,
		Parent: func(wire.PID) wire.PID { return 0 }, // its kernel knows all
		Hidden: func() func(wire.PID) bool { return m.ghosts(ctx) },
	}, func() uint64 { return 0 })}, nil
}

// ghosts returns which processes of the front end are ghosts; all seem to be when the
// master ends.
func (m *Master) ghosts(ctx context.Context) func(wire.PID) bool {
	var all map[wire.PID]bool
	if err := m.do(ctx, func(core *core) {
		all = make(map[wire.PID]bool, len(core.procs))
		for pid := range core.procs {
			all[pid] = true
		}
		for pid := range core.found {
			all[pid] = true
		}
	}); err != nil {
		return func(wire.PID) bool { return true }
	}
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
		return errUnexpected
	})
	return ours
}

// close waits for the ends of all streams.
func (h *here) close(log *slog.Logger) {
	_ = h.shows.Wait() // an error is that of a stream
	if err := h.server.Close(); err != nil {
		log.Warn("reading procfs of the front end", "err", err)
	}
	h.proc.Close()
}

// checkedHere leaves out of what the front end tells the processes that are on a node
// by now.
func (l *looked) checkedHere(ctx context.Context, changed *wire.Changed) error {
	return l.m.do(ctx, func(core *core) {
		changed.Procs = slices.DeleteFunc(changed.Procs, func(t wire.Texts) bool { return core.procs[t.PID] != nil })
	})
}

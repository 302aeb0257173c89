package nodes

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/internal/client"
	"bproc/procfs"
	"bproc/wire"
)

// Source is a [procfs.Source] for all nodes of this machine's master, or, on a node, of the master
// that the node's daemon serves. If its user is root, it reads elsewhere what the reader may read,
// else what its user may. Any goroutine may use it while Run runs.
type Source struct {
	// Inner means that proc is the procfs of a node's process space. It must be set before the
	// first call.
	Inner bool

	client *client.Client
	front  *front
	log    *slog.Logger
	asks   chan func(context.Context) // questions for Run to ask

	mu        sync.Mutex
	called    *tableCall   // not answered yet
	here      *wire.NodeID // the node of this machine; nil: the front end
	nodes     map[wire.NodeID]*node
	procs     map[wire.PID]*process
	environs  environs // those of procs
	sessions  map[wire.PID]*session
	unsettled map[wire.PID]bool // whose place may differ from their texts
	orphans   map[wire.PID]int  // whose parents their ghosts tell; the value is the number of checks left
	changed   map[wire.PID]bool // since the last Refresh
	ended     map[wire.PID]bool // since the last Refresh
	bell      chan struct{}     // rung at each change
}

var _ procfs.Source = (*Source)(nil)

// New returns a Source. Proc is the procfs of this machine; it must stay open.
func New(client *client.Client, proc *os.File, log *slog.Logger) (*Source, error) {
	f, err := newFront(proc)
	if err != nil {
		return nil, err
	}
	return &Source{
		client: client, front: f, log: log, asks: make(chan func(context.Context)),
		nodes: map[wire.NodeID]*node{}, procs: map[wire.PID]*process{}, environs: environs{}, sessions: map[wire.PID]*session{},
		unsettled: map[wire.PID]bool{}, orphans: map[wire.PID]int{},
		changed: map[wire.PID]bool{}, ended: map[wire.PID]bool{}, bell: make(chan struct{}, 1),
	}, nil
}

// Run asks nodes on demand of Refresh, until the context ends.
func (s *Source) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for {
			select {
			case ask := <-s.asks:
				group.Go(func() error { ask(ctx); return nil })
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	err := group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		n.close()
	}
	return err
}

// Limits of time.
const (
	interval  = 400 * time.Millisecond // minimal time between two questions to a node
	patience  = 500 * time.Millisecond // of a Refresh with a node that tells nothing
	first     = 3 * time.Second        // the same, for the first answer
	forgotten = 30 * time.Second       // a node that has not answered by then is asked anew
)

// Refresh implements [procfs.Source]. It does not wait again for a node that has not answered an
// earlier call, unless the node continues to tell processes.
func (s *Source) Refresh(ctx context.Context, now bool, take func(procfs.Changes)) error {
	list, err := s.table(ctx)
	if err != nil {
		return err
	}
	due, telling := s.due(list, time.Now(), now)
	for _, n := range due {
		select {
		case s.asks <- func(ctx context.Context) { s.ask(ctx, n.node, now) }:
		case <-ctx.Done():
			s.over(n.node)
		}
	}
	for _, n := range append(due, telling...) {
		s.await(ctx, n, take)
	}
	take(s.news(time.Now(), true))
	return nil
}

// await waits for the answer of a node as long as the node continues to tell processes. Changes of
// any node meanwhile are taken at once.
func (s *Source) await(ctx context.Context, n asking, take func(procfs.Changes)) {
	for {
		s.mu.Lock()
		left := time.Until(n.heard.Add(n.patience()))
		s.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-n.done:
			return
		case <-ctx.Done():
			return
		case <-s.bell:
			take(s.news(time.Now(), false))
		case <-time.After(left):
		}
	}
}

// news returns the changes since the last call. With all, it also checks for changes on this
// machine.
func (s *Source) news(now time.Time, all bool) procfs.Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all {
		s.review(now)
	}
	s.settle(now)
	var c procfs.Changes
	for pid := range s.changed {
		if p := s.procs[pid]; p != nil {
			c.Changed = append(c.Changed, p.shown)
		}
	}
	for pid := range s.ended {
		c.Ended = append(c.Ended, pid)
	}
	clear(s.changed)
	clear(s.ended)
	return c
}

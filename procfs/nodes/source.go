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

// Source is a [procfs.Source] for all nodes of the master of this machine, or, on a node,
// of the master that its daemon serves. What it may see elsewhere is what its user may, or,
// on a node, who asks. Any goroutine may use it, while Run runs.
type Source struct {
	// Inner says that proc is the procfs of a node's process space. It is to be set before
	// the first call.
	Inner bool

	client *client.Client
	front  *front
	log    *slog.Logger
	asks   chan func(context.Context) // whom is to be asked what, for Run

	mu        sync.Mutex
	called    *tableCall   // that is not answered yet
	here      *wire.NodeID // the node that this is on; nil: the front end
	nodes     map[wire.NodeID]*node
	procs     map[wire.PID]*process
	environs  environs // those of procs
	sessions  map[wire.PID]*session
	unsettled map[wire.PID]bool // that may be elsewhere than their texts say
	orphans   map[wire.PID]int  // whose parent their ghosts know, and how often to look there
	changed   map[wire.PID]bool // since the last Refresh
	ended     map[wire.PID]bool // since the last Refresh
	bell      chan struct{}     // rung when something is new
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

// Run asks nodes, when Refresh wants it, until the context ends.
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

// Bounds on time.
const (
	interval  = 400 * time.Millisecond // a node is asked once in it at most
	patience  = 500 * time.Millisecond // of a Refresh with a node that says nothing
	first     = 3 * time.Second        // the same, for the first answer
	forgotten = 30 * time.Second       // a node that has not answered by then is asked anew
)

// Refresh implements [procfs.Source]. A node that is still to answer a call before is
// not waited for again, unless it goes on telling processes.
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

// await waits for the answer of a node, for as long as it goes on saying something. What is
// new meanwhile, of any node, is taken at once.
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

// news returns what has changed since it was called last. All: also where nodes have told
// nothing new.
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

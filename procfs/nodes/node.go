package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bproc/internal/client"
	"bproc/wire"
)

// node is the state of the look at one node.
type node struct {
	id    wire.NodeID
	look  *client.Look // nil: there is none; the goroutine that asks the node owns it
	asked time.Time    // last
	heard time.Time    // when it last told a process, or was asked
	done  chan struct{}

	shift    int64   // to add to its start times
	boot     *string // the boot that shift is for; nil: not known
	busy     bool    // it is being asked
	dated    bool    // shift has been checked in this look
	answered bool    // at least once in this look
}

// asking is a question to a node that is not yet answered.
type asking struct {
	*node
	done <-chan struct{}
}

// due returns the nodes to ask now, and marks them as busy, and the nodes that are still answering
// an earlier question. A node without processes is not asked; its former ones have ended. Pressing
// asks for their state as of now, but on a node only from this node.
func (s *Source) due(list []wire.Node, now time.Time, pressing bool) (due, telling []asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed := map[wire.NodeID]bool{}
	for i := range list {
		id := list[i].ID
		listed[id] = true
		n := s.nodes[id]
		switch {
		case list[i].Procs == 0:
			s.empty(id, list[i].State == "down")
			continue
		case n == nil:
			n = &node{id: id}
			s.nodes[id] = n
		}
		if n.busy && n.heard.After(n.asked) && now.Sub(n.heard) < n.patience() {
			telling = append(telling, asking{n, n.done})
		}
		if n.busy || now.Sub(n.asked) < interval && (!pressing || s.here != nil && id != *s.here) {
			continue
		}
		n.busy, n.asked, n.heard, n.done = true, now, now, make(chan struct{})
		due = append(due, asking{n, n.done})
	}
	for id := range s.nodes {
		if !listed[id] {
			s.empty(id, false)
		}
	}
	return due, telling
}

// empty drops the processes of a node that has none, and the look at it. A master that was
// restarted does not yet know the processes of a node that is not up: those with a ghost stay.
func (s *Source) empty(id wire.NodeID, down bool) {
	n := s.nodes[id]
	if n == nil || n.busy {
		return
	}
	n.close()
	kept := false
	for pid, p := range s.procs {
		if p.shown.Node != id {
			continue
		}
		if down && s.hasGhost(pid) {
			kept = true
			continue
		}
		s.end(pid)
	}
	if !kept {
		delete(s.nodes, id)
	}
}

// lack ends the processes of a node that are not in the set.
func (s *Source) lack(id wire.NodeID, has map[wire.PID]bool) {
	for pid, p := range s.procs {
		if p.shown.Node == id && !has[pid] {
			s.end(pid)
		}
	}
}

func (s *Source) end(pid wire.PID) {
	s.leave(pid)
	s.ended[pid] = true
}

func (n *node) close() {
	if n.look != nil {
		_ = n.look.Close()
		n.look, n.dated, n.answered = nil, false, false
	}
}

// patience is how long a Refresh waits for a node that tells nothing.
func (n *node) patience() time.Duration {
	if !n.answered {
		return first
	}
	return patience
}

// silent reports whether a node has not answered in time.
func (n *node) silent(now time.Time) bool { return n != nil && n.busy && now.Sub(n.asked) > first }

// over ends a question to a node.
func (s *Source) over(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.busy = false
	close(n.done)
}

// answer is the part of a node's answer that has arrived.
type answer struct {
	told map[wire.PID]bool
}

var errTwice = errors.New("a process is told twice")

// ask asks a node for all changes, and applies them part by part.
func (s *Source) ask(ctx context.Context, n *node, now bool) {
	defer s.over(n)
	ctx, cancel := context.WithTimeout(ctx, forgotten)
	defer cancel()
	a := &answer{told: map[wire.PID]bool{}}
	if err := s.refresh(ctx, n, now, func(c *wire.Changed) error { return s.part(n, a, c) }); err != nil {
		s.log.Debug("a node is not seen", "node", n.id, "err", err)
		s.mu.Lock()
		n.close() // the next look gets everything anew
		s.mu.Unlock()
		return
	}
	s.complete(n, a)
}

func (s *Source) refresh(ctx context.Context, n *node, now bool, each func(*wire.Changed) error) (err error) {
	if n.look == nil {
		if n.look, err = s.client.Look(n.id); err != nil {
			return err
		}
	}
	return n.look.Refresh(ctx, now, each)
}

// part applies a part of an answer. It is valid whether the rest comes or not. Processes of an
// earlier look that are not in this one stay until the answer is complete.
func (s *Source) part(n *node, a *answer, c *wire.Changed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.Procs) > 0 {
		n.heard = time.Now()
	}
	if !n.dated {
		s.date(n)
	}
	for i := range c.Procs {
		pid := c.Procs[i].PID
		if a.told[pid] {
			return fmt.Errorf("node %d, process %d: %w", n.id, pid, errTwice) // or the answer might never end
		}
		a.told[pid] = true
	}
	s.takeIn(n, c)
	select {
	case s.bell <- struct{}{}:
	default:
	}
	return nil
}

// date finds the shift of a node's start times: it is the same as long as the node runs.
func (s *Source) date(n *node) {
	n.dated = true
	at := n.look.Origin()
	if n.boot != nil && *n.boot == at.BootID {
		return
	}
	shift, err := s.front.shift(at)
	if err != nil {
		s.log.Warn("times of start of a node's processes are its own", "node", n.id, "err", err)
		return
	}
	n.shift, n.boot = shift, &at.BootID
}

// complete records that a node has told everything.
func (s *Source) complete(n *node, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !n.answered {
		s.lack(n.id, a.told)
		n.answered = true
	}
}

func (s *Source) takeIn(n *node, c *wire.Changed) {
	for _, pid := range c.Ended {
		if p := s.procs[pid]; p != nil && p.shown.Node == n.id {
			s.end(pid)
		}
	}
	for i := range c.Procs {
		if err := s.takeProcess(n, &c.Procs[i], c.Environs); err != nil {
			s.log.Warn("what a node tells of a process is dropped", "node", n.id, "pid", c.Procs[i].PID, "err", err)
		}
	}
}

// takeProcess applies a node's report of a process. Environs are those of the message; the process
// has one of them.
func (s *Source) takeProcess(n *node, t *wire.Texts, environs [][]byte) error {
	was := s.procs[t.PID]
	if was != nil && was.shown.Node != n.id {
		was = nil
	}
	p, err := take(n.id, t, was, n.shift)
	if err == nil {
		err = s.foreign(p)
	}
	if err != nil {
		return err
	}
	if p.environ = s.environs.environOf(t, environs, was); p.environ != nil {
		p.shown.Environ = p.environ.text
	}
	p.shown.Here = s.Inner && s.here != nil && n.id == *s.here
	s.enter(p)
	s.changed[t.PID] = true
	return nil
}

// foreign returns an error if a thread of the process has the number of another node's process.
func (s *Source) foreign(p *process) error {
	for _, th := range p.shown.Threads {
		if other := s.procs[th.TID]; other != nil && other.shown.Node != p.shown.Node {
			return fmt.Errorf("thread %d of %d is a process of node %d: %w", th.TID, p.shown.PID, other.shown.Node, errForm)
		}
	}
	return nil
}

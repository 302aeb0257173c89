package bpcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/internal/copy/agent"
)

// transfer copies the files of one machine to others.
type transfer struct {
	copier  *Copier
	number  int       // index among the transfers of the copy
	members []*member // by ID
	root    *member   // the sender
	front   *member   // on the front end; it exists even if it neither sends nor receives
	events  chan event
	over    bool // the transfer was given up
}

// newTransfer returns the transfer from a machine to targets.
func newTransfer(c *Copier, p *plan, source int, targets []client.NodeID) (*transfer, error) {
	certificate, key, err := agent.NewIdentity()
	if err != nil {
		return nil, err
	}
	sender, receiver, err := agent.NewSeal()
	if err != nil {
		return nil, err
	}
	t := &transfer{copier: c, number: source, events: make(chan event, 64)}
	from := p.sources[source]
	member := func(node client.NodeID) *member {
		if i := slices.IndexFunc(t.members, func(m *member) bool { return m.node == node }); i >= 0 {
			return t.members[i]
		}
		m := newMember(len(t.members), node, p.table[node])
		m.setup.Certificate, m.setup.Key, m.setup.Receiver = certificate, key, receiver
		m.setup.Progress = c.Terminal != nil
		t.members = append(t.members, m)
		return m
	}
	t.root = member(from.node)
	t.root.setup.Send, t.root.setup.Sender = &from.send, sender
	receive := p.receive
	receive.Names = from.send.Names
	for _, node := range targets {
		if node != client.FrontEnd {
			member(node).setup.Receive = &receive
		}
	}
	t.front = member(client.FrontEnd) // last, so that it passes nothing on unless it sends
	if slices.Contains(targets, client.FrontEnd) {
		t.front.setup.Receive = &receive
	}
	return t, t.directories()
}

func newMember(id int, node client.NodeID, line client.Node) *member {
	m := &member{id: id, node: node, failed: map[int]bool{}}
	m.setup.Version, m.setup.ID = agent.Version, id
	if node != client.FrontEnd && line.Addr != "" {
		m.host = agent.Host(line.Addr)
		m.setup.Address = m.host
	}
	return m
}

// directories tells the agents of nodes the directory of relative paths.
func (t *transfer) directories() error {
	for _, m := range t.members {
		relative := m.setup.Receive != nil && !filepath.IsAbs(string(m.setup.Receive.Path))
		if m.setup.Send != nil && slices.ContainsFunc(m.setup.Send.Paths, func(p string) bool { return !filepath.IsAbs(p) }) {
			relative = true
		}
		if !relative || m.node == client.FrontEnd {
			continue
		}
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		m.setup.Dir = agent.Name(dir)
	}
	return nil
}

// run makes the copies. It returns the nodes to copy to once more, see left.
func (t *transfer) run(ctx context.Context) (again, slow []client.NodeID) {
	t.startAll(ctx)
	t.await(ctx, func(m *member) bool { return m.ready }, t.late())
	if !t.over {
		tree := t.arrange()
		t.connect(tree)
		t.await(ctx, func(m *member) bool { return m.connected }, t.late())
		t.begin(tree)
		t.await(ctx, func(m *member) bool { return m.done }, nil)
	}
	t.finish()
	return t.left()
}

// maxStarts bounds the concurrent starts, as in bpsh.
const maxStarts = 128

// startAll starts all agents, the front end's first.
func (t *transfer) startAll(ctx context.Context) {
	if err := t.start(ctx, t.front); err != nil {
		t.fail(t.front, err)
	}
	turns := make(chan struct{}, maxStarts)
	errs := make([]error, len(t.members))
	var group sync.WaitGroup
	for i, m := range t.members {
		if m == t.front {
			continue
		}
		turns <- struct{}{}
		group.Go(func() {
			errs[i] = t.start(ctx, m)
			<-turns
		})
	}
	// Members that have started send events meanwhile.
	started := make(chan struct{})
	go func() {
		group.Wait()
		close(started)
	}()
	var early []event
	for waiting := true; waiting; {
		select {
		case e := <-t.events:
			early = append(early, e)
		case <-started:
			waiting = false
		}
	}
	for i, err := range errs {
		if err != nil {
			t.members[i].ended = true
			if ctx.Err() == nil {
				t.fail(t.members[i], err)
			}
		}
	}
	for _, e := range early {
		t.handle(ctx, e)
	}
}

// await handles events until far holds for all members that take part, or the transfer is over.
// When late fires, the members for which far does not hold are stalled.
func (t *transfer) await(ctx context.Context, far func(*member) bool, late <-chan time.Time) {
	for !t.over && slices.ContainsFunc(t.members, func(m *member) bool { return !m.out && !far(m) }) {
		select {
		case e := <-t.events:
			t.handle(ctx, e)
		case <-late:
			for _, m := range t.members {
				if !m.out && !far(m) {
					t.stalled(m, true)
				}
			}
		case <-ctx.Done():
			t.over = true
		}
	}
}

func (t *transfer) handle(ctx context.Context, e event) {
	m := e.member
	switch said := e.said.(type) {
	case nil:
		t.end(ctx, e)
	case agent.Ready:
		m.ready, m.port = true, said.Port
		if said.Failed != "" {
			t.copier.say(m.node, said.Path, errors.New(said.Failed))
			t.retire(m)
		}
	case agent.Connected:
		m.connected = true
		for _, id := range said.Failed {
			if id >= 0 && id < len(t.members) {
				m.failed[id] = true
			}
		}
	case agent.Problem:
		t.copier.say(m.node, said.Path, errors.New(said.Text))
	case agent.Progress:
		m.written = said.Bytes
		t.progress()
	case agent.Total:
		t.copier.total(t.number, said.Bytes)
	case agent.Stalled:
		t.accused(m, said.ID)
	case agent.Done:
		m.done, m.broken = true, said.Broken
		if m.broken {
			t.dropped(m)
		}
	}
}

// patience is how long end waits to see whether the signal that ended an agent was for bpcp, too.
const patience = 200 * time.Millisecond

// end handles the end of an agent.
func (t *transfer) end(ctx context.Context, e event) {
	e.member.ended = true
	if e.member.done || e.member.out || t.over {
		return
	}
	if slices.Contains(mortal, os.Signal(e.sig)) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(patience):
		}
	}
	if e.err == nil {
		e.err = errors.New("bpcp ended there before the copy was done")
	}
	t.fail(e.member, e.err)
}

// fail reports a member that cannot go on, and retires it.
func (t *transfer) fail(m *member, err error) {
	t.copier.say(m.node, "", err)
	t.retire(m)
}

// retire takes a member out of the transfer. Without the root there is nothing to copy.
func (t *transfer) retire(m *member) {
	m.out = true
	if m.input != nil {
		m.input.Close()
	}
	if m == t.root {
		t.over = true
		return
	}
	t.dropped(m)
}

// dropped tells all others that a member is gone.
func (t *transfer) dropped(gone *member) {
	for _, m := range t.members {
		if m != gone && !m.out && !m.done && m.connected {
			go t.tell(m, agent.Drop{ID: gone.id}) // a stopped member reads nothing
		}
	}
}

// tell sends a message to a member. If that fails, the member's end gives the reason.
func (t *transfer) tell(m *member, message any) { _ = m.conn.Send(message) }

// grace is how long agents may take to remove incomplete files.
const grace = 10 * time.Second

// finish waits until all agents have ended. An agent that does not end although it was killed is
// blocked in its node's kernel, and is left there.
func (t *transfer) finish() {
	for _, m := range t.members {
		if m.input != nil {
			m.input.Close()
		}
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	killed := false
	for slices.ContainsFunc(t.members, func(m *member) bool { return !m.ended }) {
		select {
		case e := <-t.events:
			if p, ok := e.said.(agent.Problem); ok && !t.over {
				t.copier.say(e.member.node, p.Path, errors.New(p.Text))
			}
			if e.said == nil {
				e.member.ended = true
			}
		case <-timer.C:
			if killed {
				return
			}
			for _, m := range t.members {
				if !m.ended && m.stop != nil {
					m.stop()
				}
			}
			killed = true
			timer.Reset(grace)
		}
	}
}

// progress reports the progress of the slowest member to the meter.
func (t *transfer) progress() {
	least, members := int64(-1), 0
	for _, m := range t.members {
		if m.setup.Receive == nil || m.out || m.slow {
			continue
		}
		members++
		if least < 0 || m.written < least {
			least = m.written
		}
	}
	t.copier.progress(t.number, max(least, 0), members)
}

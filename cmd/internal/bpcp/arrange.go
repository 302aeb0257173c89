package bpcp

import "bproc/internal/copy/agent"

// arrange makes a tree of the members that take part, with the root first. The front end is last,
// if it receives.
func (t *transfer) arrange() tree {
	list := tree{t.root}
	for _, m := range t.members {
		if m != t.root && !m.out && (m != t.front || m.setup.Receive != nil) {
			list = append(list, m)
		}
	}
	return list
}

// connect tells all members which members to connect to. Parents connect to their children; the
// front end connects to its parent, because nodes may not be able to reach the front end.
func (t *transfer) connect(tree tree) {
	peers := map[*member][]agent.Peer{}
	for i, child := range tree {
		if i == 0 {
			continue
		}
		from, to := tree[tree.parent(i)], child
		if child == t.front {
			from, to = to, from
		}
		if to.address() == "" {
			tree[tree.parent(i)].failed[child.id] = true
			continue
		}
		peers[from] = append(peers[from], agent.Peer{ID: to.id, Address: to.address()})
	}
	for _, m := range t.members {
		if !m.out {
			t.tell(m, agent.Connect{Peers: peers[m]})
		}
	}
}

// begin starts the stream. Where a connection could not be made, the front end takes the place of
// the parent and passes the stream on in messages.
func (t *transfer) begin(tree tree) {
	starts := t.origins(tree)
	hub := starts[t.front]
	t.detach(tree, starts)
	for i, parent := range tree {
		for _, child := range tree.children(i) {
			if !child.out && starts[child].From == parent.id {
				starts[parent].Links = append(starts[parent].Links, child.id)
			}
		}
	}
	needed := t.front.setup.Receive != nil || t.front == t.root || len(hub.Feeds) > 0
	t.limit(tree, starts)
	for m, start := range starts {
		m.from = start.From
		if !m.out && (m != t.front || needed) {
			t.tell(m, *start)
		}
	}
	if !needed {
		t.retire(t.front)
	}
}

// origins returns the source of the stream for each member.
func (t *transfer) origins(tree tree) map[*member]*agent.Start {
	starts := map[*member]*agent.Start{t.front: {From: agent.FromSession}}
	starts[t.root] = &agent.Start{From: agent.FromSelf}
	hub := starts[t.front]
	for i, child := range tree {
		if i == 0 {
			continue
		}
		parent := tree[tree.parent(i)]
		if child != t.front {
			starts[child] = &agent.Start{}
		}
		starts[child].From = parent.id
		if child != t.front && (parent.out || parent.failed[child.id]) {
			hub.Feeds = append(hub.Feeds, child.id)
			starts[child].From = agent.FromSession
		}
	}
	return starts
}

// detach makes the root send the stream to the front end's agent in messages if that agent has no
// connection to its parent, or if it passes the stream on: its parent may be below a member to
// which it passes the stream.
func (t *transfer) detach(tree tree, starts map[*member]*agent.Start) {
	if t.front == t.root {
		return
	}
	hub := starts[t.front]
	lonely := len(hub.Feeds) > 0
	for i, m := range tree {
		if parent := tree[tree.parent(i)]; m == t.front && (parent.out || t.front.failed[parent.id] || parent.failed[m.id]) {
			lonely = true
		}
	}
	if lonely {
		hub.From, starts[t.root].Up = agent.FromSession, true
		t.root.up.Store(true)
	}
}

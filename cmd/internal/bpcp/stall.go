package bpcp

import (
	"time"

	"bproc/internal/client"
	"bproc/internal/copy/agent"
)

// A machine that takes nothing holds up the machines below it in the tree, and all others in the
// end. So it is dropped after a while and gets its copy after the others, in another transfer
// without such a limit.

const (
	// leastTicks is the number of ticks ([agent.Tick]) after which the leaves of the tree are
	// dropped.
	leastTicks = 10
	// moreTicks is added for each step up the tree: a machine that waits for one below it takes
	// nothing either, but must not be dropped for that.
	moreTicks = 2
	// lateTime is how long agents may take to answer before the stream begins.
	lateTime = 20 * time.Second
)

// receivers returns how many members of the transfer receive.
func (t *transfer) receivers() (n int) {
	for _, m := range t.members {
		if m.setup.Receive != nil {
			n++
		}
	}
	return n
}

// limit sets how long each member waits for those to which it passes the stream on. The front end
// may pass it to any node in messages, and gets it from the root in that case.
func (t *transfer) limit(tree tree, starts map[*member]*agent.Start) {
	if t.receivers() < 2 {
		return
	}
	deepest := tree.depth(len(tree) - 1)
	for i, m := range tree {
		starts[m].Ticks = leastTicks + moreTicks*(deepest-tree.depth(i))
	}
	starts[t.front].Ticks = leastTicks + moreTicks*(deepest+1)
	starts[t.root].Ticks = leastTicks + moreTicks*(deepest+2)
}

// late returns a channel that fires when members that have not answered are too late. It is nil if
// no other member waits.
func (t *transfer) late() <-chan time.Time {
	if t.receivers() < 2 {
		return nil
	}
	return time.After(lateTime)
}

// accused handles a member's report that another member takes nothing. The report counts only if
// the reporter passes the stream to that member.
func (t *transfer) accused(by *member, id int) {
	m := t.front
	if id >= 0 && id < len(t.members) {
		m = t.members[id]
	}
	if m == by || by == t.root || by == t.front || m.from == by.id {
		t.stalled(m, m != by)
	}
}

// stalled leaves a member's copy for later. The member no longer takes part, unless it passes the
// stream on.
func (t *transfer) stalled(m *member, out bool) {
	if m.out || m.slow || m.done && !m.broken || m == t.root && out {
		return
	}
	m.slow = true
	if m.setup.Receive != nil {
		t.copier.note(m.node, "takes nothing; it gets its copy after the others")
	}
	if out && !m.done {
		t.retire(m)
	}
}

// left returns the nodes that need another copy: the nodes again lost the stream, the nodes slow
// have held up others.
func (t *transfer) left() (again, slow []client.NodeID) {
	if t.over {
		return nil, nil
	}
	for _, m := range t.members {
		switch {
		case m.setup.Receive == nil:
		case m.slow:
			slow = append(slow, m.node)
		case m.broken && m != t.root:
			again = append(again, m.node)
		}
	}
	return again, slow
}

package bpcp

import (
	"time"

	"bproc/internal/client"
	"bproc/internal/copy/agent"
)

// A machine that takes nothing holds up those below it in the tree, and all others in the end. So it is
// dropped after a while, and gets its copy after the others, in a transfer of its own, which has no
// such limit.

const (
	// leastTicks is after how many ticks (agent.Tick) the last ones of the tree are dropped.
	leastTicks = 10
	// moreTicks is how many more each step upwards in the tree has: a machine that waits for one
	// below it takes nothing either, and is not the one to be dropped.
	moreTicks = 2
	// lateTime is how long agents may take for an answer before the stream begins.
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

// limit says how long each member waits for those to which it passes the stream on. The front end may
// pass it on to any node by messages, and gets it from the root then.
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

// late returns when members that have not answered are too late; nil: never, as nobody else waits.
func (t *transfer) late() <-chan time.Time {
	if t.receivers() < 2 {
		return nil
	}
	return time.After(lateTime)
}

// accused is for a member that takes nothing, as another one says. That is believed of those to which
// it passes the stream on.
func (t *transfer) accused(by *member, id int) {
	m := t.front
	if id >= 0 && id < len(t.members) {
		m = t.members[id]
	}
	if m == by || by == t.root || by == t.front || m.from == by.id {
		t.stalled(m, m != by)
	}
}

// stalled has a member get its copy after the others. It takes no part any more, unless it passes the
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

// left returns the nodes to copy to once more: those that have lost the stream, and those that have
// held others up.
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

package bpctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/internal/onscreen"
)

// waiting says whether to wait for changes that take a node longer, and how long.
type waiting struct {
	not   bool
	limit time.Duration
}

const defaultWait = 10 * time.Minute

// goal is the state of a node that a change leads to.
type goal struct {
	word string // names the goal in a sentence: "3 of 4 nodes have ..."
	met  func(before, now *client.Node) bool
	also bool // a node in state error can reach it, too
}

// isReady reports whether a node has connected and its set-up is over.
func isReady(n *client.Node) bool { return n.State != "down" && n.State != "boot" }

var goals = map[string]goal{
	"reboot": {"booted anew", func(before, now *client.Node) bool { return now.Boot != before.Boot && isReady(now) }, false},
	"halt":   {"halted", func(_, now *client.Node) bool { return now.State == "down" }, false},
	"pwroff": {"gone off", func(_, now *client.Node) bool { return now.State == "down" }, false},
}

var (
	goalOn      = goal{"come up", func(_, now *client.Node) bool { return isReady(now) }, false}
	goalDrained = goal{"been drained", func(_, now *client.Node) bool { return now.Procs == 0 }, true}
)

// goalOf returns the goal of a change; false means that the change takes effect at once.
func (ch change) goalOf() (goal, bool) {
	switch {
	case ch.powerOn:
		return goalOn, true
	case ch.State != nil:
		g, ok := goals[*ch.State]
		return g, ok
	}
	return goal{}, false
}

// act makes a change on all nodes, and waits until they reach its goal.
func (c *Control) act(ctx context.Context, nodes []client.NodeID, what change, w waiting) error {
	goal, later := what.goalOf()
	if !later || w.not {
		_, err := c.begin(ctx, nodes, what)
		return err
	}
	before, err := c.table(ctx)
	if err != nil {
		return err
	}
	begun, failed := c.begin(ctx, nodes, what)
	if failed != nil && !errors.Is(failed, errReported) {
		return failed
	}
	return cmp.Or(c.await(ctx, begun, before, goal, w.limit), failed)
}

// maxPowerOn is how many nodes are switched on at the same time.
const maxPowerOn = 32

// begin makes a change on nodes, and returns the nodes on which that succeeded.
func (c *Control) begin(ctx context.Context, nodes []client.NodeID, what change) (begun []client.NodeID, err error) {
	if !what.powerOn {
		failed, err := c.set(ctx, nodes, what.NodeChange)
		if err != nil {
			return nil, err
		}
		err = c.each(nodes, func(node client.NodeID) error {
			err := failed[node]
			if err == nil {
				begun = append(begun, node)
			}
			return err
		})
		return begun, err
	}
	results := make([]error, len(nodes))
	slots := make(chan struct{}, maxPowerOn)
	var all sync.WaitGroup
	for i, node := range nodes {
		slots <- struct{}{}
		all.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, powerOnTimeout, errNoAnswer)
			defer cancel()
			results[i] = c.Client.PowerOn(ctx, node)
			<-slots
		})
	}
	all.Wait()
	next := 0
	err = c.each(nodes, func(node client.NodeID) error {
		err := results[next]
		next++
		if err == nil {
			begun = append(begun, node)
		}
		return err
	})
	return begun, err
}

// table returns the node table.
func (c *Control) table(ctx context.Context) (map[client.NodeID]*client.Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	nodes, err := c.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	table := map[client.NodeID]*client.Node{}
	for i := range nodes {
		table[nodes[i].ID] = &nodes[i]
	}
	return table, nil
}

// wait tracks the nodes that have not reached a goal yet.
type wait struct {
	c       *Control
	before  map[client.NodeID]*client.Node
	goal    goal
	total   int
	pending []client.NodeID
	begin   time.Time
	failed  bool
}

// lookAgain is the longest time between two looks at the table: the numbers of processes change
// without notice.
const lookAgain = time.Second

// await waits until nodes have reached a goal, and reports the nodes that do not.
func (c *Control) await(ctx context.Context, nodes []client.NodeID, before map[client.NodeID]*client.Node, g goal, limit time.Duration) error {
	w := &wait{c: c, before: before, goal: g, pending: slices.Compact(slices.Sorted(slices.Values(nodes))), begin: time.Now()}
	w.total = len(w.pending)
	defer w.clear()
	for digest := uint64(0); ; {
		next, err := c.changed(ctx, digest)
		if err != nil {
			return err
		}
		digest = next
		now, err := c.table(ctx)
		if err != nil {
			return err
		}
		w.look(now)
		switch {
		case len(w.pending) == 0 && w.failed:
			return errReported
		case len(w.pending) == 0:
			return nil
		case time.Since(w.begin) > limit:
			w.late(now, limit)
			return errReported
		}
		w.show()
	}
}

// changed waits until the table has another digest, for lookAgain at most.
func (c *Control) changed(ctx context.Context, digest uint64) (uint64, error) {
	waiting, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	next, err := c.Client.AwaitNodes(waiting, digest)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return digest, nil
	}
	return next, err
}

// look removes the nodes that have reached the goal or never will.
func (w *wait) look(now map[client.NodeID]*client.Node) {
	w.pending = slices.DeleteFunc(w.pending, func(id client.NodeID) bool {
		n, before := now[id], w.before[id]
		switch {
		case n == nil || before == nil:
			w.report("node %v: no such node", id)
		case n.State == "error" && !w.goal.also:
			w.report("node %v: it is in state error: %s", id, cmp.Or(n.Reason, "nobody has said why"))
		default:
			return w.goal.met(before, n)
		}
		return true
	})
}

// late reports the nodes that have not reached the goal in time.
func (w *wait) late(now map[client.NodeID]*client.Node, limit time.Duration) {
	for _, id := range w.pending {
		w.report("node %v: it has not %s within %v; it is %s", id, w.goal.word, limit, now[id].State)
	}
}

func (w *wait) report(format string, args ...any) {
	w.clear()
	w.failed = true
	fmt.Fprintf(w.c.Stderr, "bpctl: %s\n", onscreen.Line(fmt.Sprintf(format, args...)))
}

// show shows the progress on a terminal.
func (w *wait) show() {
	if !w.c.Shown {
		return
	}
	elapsed := int(time.Since(w.begin).Seconds())
	fmt.Fprintf(w.c.Stderr, "\r%d of %d nodes have %s  %d:%02d\x1b[K", w.total-len(w.pending), w.total, w.goal.word, elapsed/60, elapsed%60)
}

func (w *wait) clear() {
	if w.c.Shown {
		fmt.Fprint(w.c.Stderr, "\r\x1b[K")
	}
}

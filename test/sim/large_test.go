package sim_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// perNode is the number of processes on each node of a large cluster.
const perNode = 100

// large is a master's core with many nodes, whose keeper carries out requests at once.
type large struct {
	core   *core.Core
	now    time.Time
	first  map[core.Session]wire.PID // first number granted to each
	events map[core.Session]uint64
	births uint64
}

func newLarge(b *testing.B, nodes int) *large {
	l := &large{now: time.Unix(1_000_000, 0), first: map[core.Session]wire.PID{}, events: map[core.Session]uint64{}}
	var err error
	l.core, err = core.New(core.Config{Now: l.now, Lease: time.Minute, Numbers: pidmap.Config{Nodes: pidmap.MaxNodes}, MaxEnds: 100})
	if err != nil {
		b.Fatal(err)
	}
	l.step(core.KeeperFound{Boot: 1})
	for i := range nodes {
		name := fmt.Sprint("n", i)
		l.step(core.Join{Identity: name, Host: name, Want: wire.NodeID(i)})
		s := core.Session(i + 1)
		l.step(core.NodeUp{Session: s, Peer: core.Peer{Key: name, BootID: "1"}})
		ghost := wire.PID(1000 + i)
		l.births++
		l.step(core.Run{Client: core.Client(s), Who: core.Caller{PID: 10, UID: 1000}, Node: wire.NodeID(i), PID: ghost, Launch: l.births, Limit: 1 << 30})
		l.tell(s, wire.Event{Kind: wire.EventSpawned, PID: ghost})
		for p := range perNode - 1 {
			l.tell(s, wire.Event{Kind: wire.EventForked, PID: l.first[s] + wire.PID(p), Parent: ghost})
		}
	}
	l.step(core.News{})
	if size := l.core.Size(); size != nodes*perNode {
		b.Fatalf("%d processes, want %d", size, nodes*perNode)
	}
	return l
}

// step gives the core an input, and the answers to its requests.
func (l *large) step(in core.Input) {
	out := l.core.Step(l.now, in)
	for i := 0; i < len(out); i++ {
		switch o := out[i].(type) {
		case core.Keep:
			out = append(out, l.core.Step(l.now, core.Kept{Number: o.Number})...)
		case core.ToNode:
			if m, is := o.Message.(*wire.BlocksGranted); is && len(m.Blocks) > 0 && l.first[o.Session] == 0 {
				l.first[o.Session] = m.Blocks[0].First
			}
		case core.ToKeeper:
			if m, is := o.Message.(*wire.GhostExit); is {
				out = append(out, l.core.Step(l.now, core.FromKeeper{Message: &wire.GhostGone{PID: m.PID, Asked: true}})...)
			}
			if o.Number != 0 {
				out = append(out, l.core.Step(l.now, core.FromKeeper{Number: o.Number, Message: new(wire.GhostDone)})...)
			}
		}
	}
}

// tell reports an event of a node.
func (l *large) tell(s core.Session, e wire.Event) {
	l.events[s]++
	l.step(core.FromNode{Session: s, Message: &wire.Events{First: l.events[s], Events: []wire.Event{e}}})
}

// BenchmarkLarge measures the cost of an event, with all its consequences, on many nodes with a
// hundred processes each, and the memory that a process takes. Ticks pass over all nodes, News over
// the nodes that have any.
func BenchmarkLarge(b *testing.B) {
	for _, nodes := range []int{20, 200, 2000} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := newLarge(b, nodes)
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytes := float64(after.HeapAlloc-before.HeapAlloc) / float64(nodes*perNode)
		b.Run(fmt.Sprintf("birth-end/%d", nodes), func(b *testing.B) {
			for i := range b.N {
				s := core.Session(i%nodes + 1)
				pid := l.first[s] + wire.PID(200)
				l.tell(s, wire.Event{Kind: wire.EventForked, PID: pid, Parent: wire.PID(999 + s)})
				l.tell(s, wire.Event{Kind: wire.EventExited, PID: pid})
			}
			b.ReportMetric(bytes, "B/process")
		})
		b.Run(fmt.Sprintf("session/%d", nodes), func(b *testing.B) {
			for range b.N {
				s := core.Session(nodes)
				l.step(core.NodeCut{Session: s})
				l.step(core.NodeHealed{Session: s})
			}
		})
		b.Run(fmt.Sprintf("tick/%d", nodes), func(b *testing.B) {
			for range b.N {
				l.step(core.Tick{})
			}
		})
		runtime.KeepAlive(l)
	}
}

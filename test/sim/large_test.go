package sim_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/pidmap"
	slave "bproc/slave/core"
	"bproc/wire"
)

// perNode is the number of processes on each node of a large cluster.
const perNode = 100

// large is a cluster of the cores of a master and of many slaves. The keeper carries out requests at
// once, and so does init.
type large struct {
	core   *core.Core
	slaves map[core.Session]*slave.Core
	now    time.Time
	first  map[core.Session]wire.PID // first number granted to each
	events map[core.Session]uint64
	births uint64
}

func newLarge(b *testing.B, nodes int) *large {
	l := &large{now: time.Unix(1_000_000, 0), slaves: map[core.Session]*slave.Core{}, first: map[core.Session]wire.PID{}, events: map[core.Session]uint64{}}
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
		if l.slaves[s], err = slave.New(slave.Config{}); err != nil {
			b.Fatal(err)
		}
		l.slaves[s].Step(l.now, slave.SessionUp{Session: 1})
		l.step(core.NodeUp{Session: s, Peer: core.Peer{Key: name, BootID: "1"}})
		ghost := wire.PID(1000 + i)
		l.births++
		l.step(core.Run{Client: core.Client(s), Who: core.Caller{PID: 10, UID: 1000}, Node: wire.NodeID(i), PID: ghost, Launch: l.births, Limit: 1 << 30})
		for p := range perNode - 1 {
			l.forks(s, l.first[s]+wire.PID(p), ghost)
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
			l.slaves[o.Session].Step(l.now, slave.FromMaster{Number: o.Number, Message: o.Message})
		case core.Spawn:
			spawn := &wire.Spawn{PID: o.PID, Launch: l.births}
			l.slaves[o.Session].Step(l.now, slave.Launch{Session: 1, Spawn: spawn})
			started := slave.Asked(spawn)
			started.Starting = false
			out = append(out, l.core.Step(l.now, l.told(o.Session, wire.Event{Kind: wire.EventSpawned, PID: o.PID, Birth: l.births}, started))...)
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

// told has a slave tell of an event, and returns what the master gets. State is that of the process
// after the event.
func (l *large) told(s core.Session, e wire.Event, state slave.Known) core.Input {
	l.events[s]++
	events := wire.Events{First: l.events[s], Events: []wire.Event{e}}
	for _, o := range l.slaves[s].Step(l.now, slave.Told{Events: events, States: []slave.Known{state}}) {
		if m, is := o.(slave.ToMaster); is {
			return core.FromNode{Session: s, Number: m.Number, Message: m.Message}
		}
	}
	return core.News{}
}

// forks has a process of a node fork, and ends has one end.
func (l *large) forks(s core.Session, pid, parent wire.PID) {
	l.births++
	l.step(l.told(s, wire.Event{Kind: wire.EventForked, PID: pid, Parent: parent, Birth: l.births}, slave.Known{PID: pid, Birth: l.births, Parent: parent, PGID: parent, SID: parent}))
}

func (l *large) ends(s core.Session, pid wire.PID) {
	l.step(l.told(s, wire.Event{Kind: wire.EventExited, PID: pid, Birth: l.births}, slave.Known{PID: pid, Birth: l.births}))
}

// BenchmarkLarge measures the cost of an event, with all its consequences in both cores, on many nodes
// with a hundred processes each, and the memory that a process takes in both. Ticks pass over all nodes, News over
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
				l.forks(s, pid, wire.PID(999+s))
				l.ends(s, pid)
				if i%100 == 0 {
					l.step(core.News{}) // slaves learn what the master has
				}
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

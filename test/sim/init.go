package sim

import (
	"maps"
	"slices"
	"time"

	"bproc/slave/core"
	"bproc/wire"
)

// initProcess is the init of a node's process space: it starts processes and reaps them, even
// without a slave.
type initProcess struct {
	node     *node
	in       []any // requests of the slave: *proc to start, or outputs of its core
	written  int   // number of these that cannot be lost any more
	out      []word
	kept     map[wire.PID]word // for later slaves
	deadline time.Time         // zero: none
}

// word is a report of init about a process: the result of its launch, or its end.
type word struct {
	p        *proc
	failed   bool
	ended    bool
	status   wire.Status
	withNode bool // all processes of the space were killed
}

// says reports to the slave. Ends and failed launches are kept for the next slave.
func (i *initProcess) says(w word) {
	if w.failed || w.ended {
		i.kept[w.p.pid] = w
	}
	if i.node.slave != nil {
		i.out = append(i.out, w)
	}
}

// works carries out the next request.
func (i *initProcess) works() {
	if len(i.in) > 0 {
		next := i.in[0]
		i.in, i.written = i.in[1:], max(0, i.written-1)
		i.do(next)
	}
}

func (i *initProcess) do(what any) {
	n := i.node
	switch o := what.(type) {
	case *proc:
		if other := n.procs[o.pid]; other != nil {
			n.sim.fail("init of node %d is asked for %d (birth %d), and there is one (birth %d)", n.id, o.pid, o.birth, other.birth)
		}
		delete(i.kept, o.pid)
		n.procs[o.pid] = o
	case core.Give:
		n.gets(o.Signal)
	case core.KillAll:
		n.sim.note("all on node %d are killed", n.id)
		n.killAll()
	case core.Forget:
		for _, pid := range o.PIDs {
			delete(i.kept, pid)
		}
	case core.Deadline:
		i.deadline = o.At
	}
}

// startsNext starts a requested process, or fails to.
func (i *initProcess) startsNext() {
	for _, p := range i.node.inOrder() {
		if !p.runs {
			i.starts(p)
			return
		}
	}
}

func (i *initProcess) starts(p *proc) {
	failed := i.node.sim.chance(10)
	i.node.sim.note("node %d: %d (birth %d) is started: %v", i.node.id, p.pid, p.birth, !failed)
	p.runs = true
	if failed {
		p.ended, p.status = true, wire.ExitStatus(127)
		delete(i.node.procs, p.pid)
		p.client.started = nil // it can be tried again
	}
	i.says(word{p: p, failed: failed})
}

// found returns the state that a new slave finds, and reports to it what is kept.
func (i *initProcess) found() (in core.Found) {
	for _, p := range i.node.inOrder() {
		if p.client == nil {
			continue
		}
		if !p.runs {
			in.Starting = append(in.Starting, p.pid)
		}
		in.PIDs = append(in.PIDs, p.pid)
	}
	for _, pid := range slices.Sorted(maps.Keys(i.kept)) {
		if i.kept[pid].ended && !slices.Contains(in.PIDs, pid) {
			in.PIDs = append(in.PIDs, pid)
		}
		i.out = append(i.out, i.kept[pid])
	}
	return in
}

// lost handles the slave's death: some of its last requests may have arrived.
func (i *initProcess) lost() {
	for range i.written + i.node.sim.rng.IntN(len(i.in)-i.written+1) {
		i.works()
	}
	i.in, i.out, i.written = nil, nil, 0
}

// timePasses carries out all requests, and checks the lease.
func (i *initProcess) timePasses() {
	for len(i.in) > 0 {
		i.works()
	}
	if !i.deadline.IsZero() && !i.node.sim.now.Before(i.deadline) && len(i.node.procs) > 0 {
		i.node.sim.note("lease of node %d", i.node.id)
		i.node.killAll()
	}
}

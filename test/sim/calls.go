package sim

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	slave "bproc/slave/core"
	"bproc/wire"
)

// asked is a system call of a node's process that waits for its answer.
type asked struct {
	call *wire.Call
	p    *proc
	of   *proc // the process that it is about, if it is one of the node's
	at   looks // of that process at the time of the call
}

// asks has a process make a call about another one on any machine. The process waits for the
// answer, and the next daemon repeats the call.
func (n *node) asks() {
	p := n.any()
	ghosts := n.sim.keeper.ghosts()
	if p == nil || len(ghosts) == 0 || n.sim.quiet {
		return
	}
	a := &asked{p: p, of: p}
	to := p.pid
	if !n.sim.chance(3) {
		to = pick(n.sim.rng, ghosts).pid
		a.of = n.procs[to]
	}
	if a.of != nil {
		a.at = a.of.looks
	}
	a.call = n.anyCall(p, int64(to))
	n.number++
	n.calls[n.number] = a
	p.waits = true
	n.sim.note("node %d: call %d of %d: %+v", n.id, n.number, p.pid, a.call)
	if n.slave != nil {
		n.slave.asks(n.number)
	}
}

// anyCall returns a random call, possibly an invalid one.
func (n *node) anyCall(p *proc, to int64) *wire.Call {
	m := &wire.Call{Caller: p.pid, Op: wire.CallKill, Args: []int64{to, int64(unix.SIGUSR2)}}
	info := make([]byte, 128)
	binary.LittleEndian.PutUint32(info, uint32(unix.SIGUSR1))
	switch n.sim.rng.IntN(20) {
	case 0, 1, 2:
		m.Op, m.Args = wire.CallGetppid, nil
	case 3, 4:
		m.Op, m.Args = wire.CallGetpgid, m.Args[:1]
	case 5, 6:
		m.Op, m.Args = wire.CallGetsid, m.Args[:1]
	case 7:
		m.Op, m.Args = wire.CallGroup, m.Args[:1]
	case 8:
		m.Op, m.Args = wire.CallExists, m.Args[:1]
	case 9, 10:
		m.Op, m.Args[1] = wire.CallEnd, int64(n.sim.rng.IntN(2))
	case 11:
		m.Op, m.Info, m.Args[1] = wire.CallSigqueue, info, int64(unix.SIGUSR1)
	case 12:
		m.Op, m.Args = wire.CallTgkill, []int64{to, to, int64(unix.SIGUSR1)}
	case 13:
		m.Args[0] = -to
	case 14:
		m.Args[0] = pick(n.sim.rng, []int64{0, -to, -1, 1})
	case 15:
		m.Args[1] = int64(unix.SIGSTOP)
	case 16:
		m.Op = 99
	case 17:
		m.Args = nil
	default:
	}
	return m
}

// returned handles the answer to a process's call.
func (n *node) returned(o slave.Returned) {
	a := n.calls[o.Number]
	delete(n.calls, o.Number)
	if a == nil {
		return
	}
	a.p.waits = false
	n.sim.note("node %d: call %d returns %+v", n.id, o.Number, o.Return)
	if o.Return.Errno != 0 || a.p.ended {
		return
	}
	got := wire.PID(o.Return.Value)
	switch same := a.of != nil && !a.of.ended && a.of.looks == a.at; {
	case a.call.Op == wire.CallGetpgid && a.of == a.p && got != a.at.group && !n.sim.keeper.unmade[a.at.group]:
		n.sim.fail("process %d is in group %d, and is told %d", a.p.pid, a.at.group, got)
	case a.call.Op == wire.CallGetsid && a.of == a.p && got != a.at.session:
		n.sim.fail("process %d is in session %d, and is told %d", a.p.pid, a.at.session, got)
	case a.call.Op == wire.CallGetppid:
		n.checkParent(a.p, got)
	case a.call.Op == wire.CallEnd && a.call.Args[1] != 0 && same:
		n.sim.fail("process %d is told that %d has ended, which runs", a.p.pid, a.of.pid)
	}
}

// checkParent compares the parent that a process is told with its real one.
func (n *node) checkParent(p *proc, told wire.PID) {
	switch {
	case p.maker != nil && !p.maker.ended && told != p.maker.pid:
		n.sim.fail("the parent of process %d is %d, and it is told %d", p.pid, p.maker.pid, told)
	case p.maker == nil && !p.client.left && told != p.client.pid:
		n.sim.fail("the parent of process %d is %d, and it is told %d", p.pid, p.client.pid, told)
	}
}

// leavesCall handles the death of a process that waits for the answer to a call.
func (n *node) leavesCall(p *proc) {
	for number, a := range n.calls {
		if a.p != p {
			continue
		}
		delete(n.calls, number)
		if n.slave != nil {
			n.slave.step(slave.CallLeft{Number: number})
		}
	}
}

// tellOf answers a question to the front end's kernel about a process.
func (k *kernel) tellOf(question core.Question, a *core.Answer) {
	var p *local
	switch q := question.(type) {
	case core.GroupOf:
		if p = k.procs[q.PID]; p != nil {
			a.PID = p.group
		}
	case core.SessionOf:
		if p = k.procs[q.PID]; p != nil {
			a.PID = p.session
		}
	case core.MayJoin:
		if p = k.procs[q.PID]; p != nil && !k.hasGroup(p.session, q.Group) {
			a.Errno = unix.EPERM
		}
	case core.IsRoot:
		if p = k.procs[q.PID]; p != nil {
			a.Root = p.uid == 0
		}
	default:
		k.sim.fail("the simulated kernel does not know %T", q)
	}
	if p == nil {
		a.Errno = unix.ESRCH
	}
}

package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxCalls bounds the calls of a node that are under way.
const maxCalls = 10_000

// call is a system call that is carried out for a remote process.
type call struct {
	s      *session
	number uint64 // of the request
	after  uint64 // event after which the call was made
	caller wire.PID
	op     wire.CallOp
	args   []int64
	info   []byte
	noKill bool

	returned *wire.Return // the answer
}

// arguments has the number of arguments of each call, and the size of its siginfo_t.
var arguments = map[wire.CallOp]struct {
	count int
	info  int
}{
	wire.CallGetppid:    {0, 0},
	wire.CallGetpgid:    {1, 0},
	wire.CallGetsid:     {1, 0},
	wire.CallKill:       {2, 0},
	wire.CallTgkill:     {3, 0},
	wire.CallSigqueue:   {2, wire.SizeofSiginfo},
	wire.CallTgsigqueue: {3, wire.SizeofSiginfo},
	wire.CallGroup:      {1, 0},
	wire.CallExists:     {1, 0},
	wire.CallEnd:        {2, 0},
}

// call takes a call of a node's process. The call waits until the front end has caught up with
// everything that the node has reported before it, so that everything the process knows of is
// there.
func (c *Core) call(s *session, number uint64, m *wire.Call) {
	if !s.shutBy.IsZero() {
		c.reply(s, number, &wire.Return{Errno: uint32(unix.ESRCH)}) // the caller is being killed
		return
	}
	if c.answersOf(s.node).again(c, s, number, m) {
		return
	}
	k := &call{s: s, number: number, after: s.last, caller: m.Caller, op: m.Op, args: m.Args, info: m.Info, noKill: m.NoKill}
	s.calling++
	want, known := arguments[m.Op]
	switch {
	case !known:
		c.fails(k, unix.ENOSYS)
	case len(m.Args) != want.count || len(m.Info) != want.info:
		c.fails(k, unix.EINVAL)
	case s.calling > maxCalls:
		c.fails(k, unix.EAGAIN)
	default:
		s.calls = append(s.calls, k)
		c.carryOutCalls(s)
	}
}

// carryOutCalls carries out the calls that need not wait any longer.
func (c *Core) carryOutCalls(s *session) {
	for len(s.calls) > 0 && s.calls[0].after <= s.placed {
		k := s.calls[0]
		s.calls = s.calls[1:]
		c.carryOut(k)
	}
}

// answer answers a call. The session, and with it the call, may have ended.
func (c *Core) answer(k *call, value int64, errno unix.Errno) {
	k.s.calling--
	k.returned = &wire.Return{Errno: uint32(errno), Value: value}
	if k.s.ended {
		k.s = k.s.left()
		return
	}
	c.reply(k.s, k.number, k.returned)
}

func (c *Core) fails(k *call, errno unix.Errno) { c.answer(k, 0, errno) }

// told answers a call with what the kernel says of a process.
func (k *call) told(c *Core, a *Answer) { c.answer(k, int64(a.PID), a.Errno) }

// pid returns an argument as the kernel takes it: pid_t is an int.
func (k *call) pid(i int) wire.PID { return wire.PID(int32(k.args[i])) }

// caller returns the process that makes a call. A node speaks only for its own processes.
func (c *Core) caller(k *call) *proc {
	p := c.procs[k.caller]
	if p == nil || p.sess != k.s || p.state == adopting || p.state == ending {
		return nil
	}
	return p
}

func (c *Core) carryOut(k *call) {
	p := c.caller(k)
	switch {
	case !k.s.ended && k.op == wire.CallEnd:
		c.awaitEnd(k)
	case k.s.ended || p == nil:
		c.fails(k, unix.ESRCH)
	case k.op == wire.CallGetppid:
		c.getppid(k)
	case k.op == wire.CallGetpgid:
		c.wonder(GroupOf{k.of(0)}, k)
	case k.op == wire.CallGetsid:
		c.wonder(SessionOf{k.of(0)}, k)
	case k.op == wire.CallGroup:
		c.wonder(MayJoin{PID: k.caller, Group: k.pid(0)}, k)
	case k.op == wire.CallExists && k.pid(0) <= 0:
		c.fails(k, unix.EINVAL) // pidfd_open(2)
	case k.op == wire.CallExists:
		c.wonder(Exists{k.pid(0)}, k)
	default:
		c.sendSignal(k, p)
	}
}

// of returns the process that an argument names; 0 names the caller.
func (k *call) of(i int) wire.PID {
	if pid := k.pid(i); pid != 0 {
		return pid
	}
	return k.caller
}

// getppid tells a process its parent on the front end, which may have adopted it after the end of
// its former parent. The node has reported that end before the call; if the former parent's ghost
// has not ended yet, the call waits for it.
func (c *Core) getppid(k *call) { c.wonder(ParentOf{k.caller}, (*getppid)(k)) }

type getppid call

func (g *getppid) told(c *Core, a *Answer) {
	k := (*call)(g)
	if p := c.procs[a.PID]; a.Errno == 0 && p != nil {
		if p = p.oldest(); p.state == ending && p.ghost {
			p.after = append(p.after, g)
			return
		}
	}
	c.answer(k, int64(a.PID), a.Errno)
}

// do asks once more, after the end of the former parent's ghost.
func (g *getppid) do(c *Core) {
	if k := (*call)(g); c.caller(k) == nil {
		c.fails(k, unix.ESRCH)
	} else {
		c.getppid(k)
	}
}

// sendSignal has the caller's ghost send a signal. The keeper reports the signals that the ghost
// has sent to itself before it answers, and the node gets Signal and Return in that order;
// groupdelivery.go sees to other processes of the node.
//
// A process with many threads sends one signal after another, because the keeper has other ghosts
// to look after.
//
// If the keeper is lost, it is unknown whether the signal was sent. A queued signal must not be
// sent twice, and sigqueue(3) may fail for a while; of other signals one too many is better than
// none.
func (c *Core) sendSignal(k *call, p *proc) {
	if p.sending {
		p.toSend = append(p.toSend, k)
		return
	}
	p.sending = true
	c.answersOf(k.s.node).enter(k)
	t := &sending{k: k, p: p, group: c.toGroup(k)}
	if c.isLimited(k.s.node) {
		c.wonder(IsRoot{k.caller}, t)
	} else {
		t.send(c)
	}
}

// sending is a signal that a process is sending.
type sending struct {
	k     *call
	p     *proc
	group *underWay // group call that it belongs to; nil: it is for one process
}

// told sends the signal of a process on a node with limited trust. Its ghost may become root's before it
// sends the signal.
func (t *sending) told(c *Core, a *Answer) {
	if a.Root || t.p.rising {
		c.sendConfined(t)
	} else {
		t.send(c)
	}
}

func (t *sending) send(c *Core) {
	m := &wire.GhostCall{PID: t.p.pid, Op: t.k.op, Args: t.k.args, Info: t.k.info, NoKill: t.k.noKill}
	if t.k.info != nil {
		c.request(t.p, m, t)
	} else {
		c.repeated(t.p, m, t)
	}
}

// answered ends a call: the signal was sent, or errno says why not.
func (t *sending) answered(c *Core, errno unix.Errno) {
	t.group.answered()
	switch errno {
	case 0:
		c.reached(t.k)
	case unix.EPIPE:
		c.fails(t.k, unix.EAGAIN)
	default:
		c.fails(t.k, errno)
	}
	c.sendNext(t.p)
}

// sendNext sends the next signals of a process.
func (c *Core) sendNext(p *proc) {
	p.sending = false
	for len(p.toSend) > 0 && !p.sending {
		k := p.toSend[0]
		p.toSend = p.toSend[1:]
		if c.caller(k) != p {
			c.fails(k, unix.ESRCH)
			continue
		}
		c.sendSignal(k, p)
	}
}

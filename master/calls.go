package master

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxCalls bounds the calls of a node that are under way.
const maxCalls = 10_000

// call is a system call that is carried out for a remote process.
type call struct {
	s      *session
	number uint64 // of the request
	after  uint64 // event that it comes after
	caller wire.PID
	op     wire.CallOp
	args   []int64
	info   []byte
	noKill bool

	returned *wire.Return // the answer
}

// arguments says how many arguments a call has, and whether a siginfo_t.
var arguments = map[wire.CallOp]struct {
	count int
	info  int
}{
	wire.CallGetppid:    {0, 0},
	wire.CallGetpgid:    {1, 0},
	wire.CallGetsid:     {1, 0},
	wire.CallKill:       {2, 0},
	wire.CallTgkill:     {3, 0},
	wire.CallSigqueue:   {2, sizeofSiginfo},
	wire.CallTgsigqueue: {3, sizeofSiginfo},
	wire.CallGroup:      {1, 0},
	wire.CallExists:     {1, 0},
	wire.CallEnd:        {2, 0},
}

// call takes a call of a node's process. It waits until the front end has caught
// up with everything that the node has told before, so that whatever the process
// knows of, is there.
func (c *core) call(s *session, number uint64, m *wire.Call) {
	if !s.shutBy.IsZero() {
		s.reply(number, &wire.Return{Errno: uint32(unix.ESRCH)}) // the caller is being killed
		return
	}
	if c.answersOf(s.node).again(s, number, m) {
		return
	}
	k := &call{s: s, number: number, after: s.last, caller: m.Caller, op: m.Op, args: m.Args, info: m.Info, noKill: m.NoKill}
	s.calling++
	want, known := arguments[m.Op]
	switch {
	case !known:
		k.fails(unix.ENOSYS)
	case len(m.Args) != want.count || len(m.Info) != want.info:
		k.fails(unix.EINVAL)
	case s.calling > maxCalls:
		k.fails(unix.EAGAIN)
	default:
		s.calls = append(s.calls, k)
		c.goOnCalling(s)
	}
}

// goOnCalling carries out the calls that need wait no longer.
func (c *core) goOnCalling(s *session) {
	for len(s.calls) > 0 && s.barrier.Passed(s.calls[0].after) {
		k := s.calls[0]
		s.calls = s.calls[1:]
		c.carryOut(k)
	}
}

// answer answers a call. The session may have ended, and with it the call.
func (k *call) answer(value int64, errno unix.Errno) {
	k.s.calling--
	k.returned = &wire.Return{Errno: uint32(errno), Value: value}
	if k.s.ended {
		k.leave()
		return
	}
	k.s.reply(k.number, k.returned)
}

func (k *call) fails(errno unix.Errno) { k.answer(0, errno) }

// returns answers a call with what a system call has said.
func (k *call) returns(value wire.PID, err error) {
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		errno = unix.ESRCH
	}
	k.answer(int64(value), errno)
}

// pid returns an argument as the kernel takes it: pid_t is an int.
func (k *call) pid(i int) wire.PID { return wire.PID(int32(k.args[i])) }

// caller returns the process that makes a call. A node speaks for its own
// processes only.
func (c *core) caller(k *call) *proc {
	p := c.procs[k.caller]
	if p == nil || p.sess != k.s || p.state == adopting || p.state == ending {
		return nil
	}
	return p
}

func (c *core) carryOut(k *call) {
	p := c.caller(k)
	switch {
	case !k.s.ended && k.op == wire.CallEnd:
		c.awaitEnd(k)
	case k.s.ended || p == nil:
		k.fails(unix.ESRCH)
	case k.op == wire.CallGetppid:
		c.getppid(k)
	case k.op == wire.CallGetpgid:
		k.returns(c.front.Group(k.of(0)))
	case k.op == wire.CallGetsid:
		k.returns(c.front.Session(k.of(0)))
	case k.op == wire.CallGroup:
		c.hasGroup(k)
	case k.op == wire.CallExists && k.pid(0) <= 0:
		k.fails(unix.EINVAL) // pidfd_open(2)
	case k.op == wire.CallExists:
		k.returns(0, c.front.Signal(k.pid(0)))
	default:
		c.sendSignal(k, p)
	}
}

// of returns the process that an argument names: 0 is the caller.
func (k *call) of(i int) wire.PID {
	if pid := k.pid(i); pid != 0 {
		return pid
	}
	return k.caller
}

// getppid tells a process its parent on the front end: what has adopted it since
// its own has ended. The node has told that end before the call; if the ghost
// has not ended yet, the call waits for that.
func (c *core) getppid(k *call) {
	if c.caller(k) == nil {
		k.fails(unix.ESRCH)
		return
	}
	parent, err := c.front.Parent(k.caller)
	if p := c.procs[parent]; err == nil && p != nil {
		if p = p.oldest(); p.state == ending && p.ghost {
			p.after = append(p.after, func() { c.getppid(k) })
			return
		}
	}
	k.returns(parent, err)
}

// hasGroup tells whether the caller may join a process group: setpgid(2) wants
// it to exist in the caller's session. Its leader tells; a group that has none
// any more has to be searched for.
func (c *core) hasGroup(k *call) {
	group := k.pid(0)
	session, err := c.front.Session(k.caller)
	if err != nil || group <= 0 || session == 0 || c.front.Signal(-group) != nil {
		k.fails(unix.EPERM)
		return
	}
	if of, err := c.front.Group(group); err == nil && of == group {
		if of, err := c.front.Session(group); err == nil && of == session {
			k.answer(0, 0)
			return
		}
	}
	c.slowly(func() func() {
		err := c.front.Member(group, session)
		return func() { k.returns(0, err) }
	})
}

// sendSignal has the caller's ghost send a signal. The keeper reports what the
// ghost has sent to itself before it answers, and so is the order in which the
// node gets Signal and Return; for others of the node see reached.
//
// A process with many threads has one signal sent after the other: the keeper has
// other ghosts to look after.
//
// If the keeper is lost, nobody knows whether the signal was sent. One that counts
// may not be sent twice, and sigqueue(3) can fail for a while; of the others one
// more is better than none.
func (c *core) sendSignal(k *call, p *proc) {
	if p.sending {
		p.toSend = append(p.toSend, k)
		return
	}
	p.sending = true
	c.answersOf(k.s.node).enter(k)
	sent := c.toGroup(k)
	answered := func(errno unix.Errno) {
		sent()
		if errno == unix.EPIPE {
			errno = unix.EAGAIN
		}
		if errno == 0 {
			c.reached(k, func() { k.answer(0, 0) })
		} else {
			k.fails(errno)
		}
		c.sendNext(p)
	}
	if c.confined(k) {
		switch to := k.target(); {
		case to <= 0 && k.op == wire.CallKill:
			c.sendMembers(k, p, answered)
			return
		case !c.hasNumber(k.s.node, to):
			answered(c.outOfReach(to))
			return
		}
	}
	ask := c.repeated
	if k.info != nil {
		ask = c.request
	}
	ask(p, &wire.GhostCall{PID: p.pid, Op: k.op, Args: k.args, Info: k.info, NoKill: k.noKill}, answered)
}

// sendNext goes on with the signals that a process sends.
func (c *core) sendNext(p *proc) {
	p.sending = false
	for len(p.toSend) > 0 && !p.sending {
		k := p.toSend[0]
		p.toSend = p.toSend[1:]
		if c.caller(k) != p {
			k.fails(unix.ESRCH)
			continue
		}
		c.sendSignal(k, p)
	}
}

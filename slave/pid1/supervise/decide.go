package supervise

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// verdict is the decision about a call: it has a result or an error, or the kernel carries it out,
// or it must wait for the front end first.
type verdict struct {
	value int64
	errno unix.Errno
	goOn  bool
	file  *os.File // the result is a new descriptor of it in the caller
	wait  func(context.Context) verdict
}

// goOn has the kernel carry out the call, whose answer is right.
var goOn = verdict{goOn: true}

func result(value int64) verdict       { return verdict{value: value} }
func failure(errno unix.Errno) verdict { return verdict{errno: errno} }

// request is one call of a process of the space.
type request struct {
	id   uint64 // of the notification
	tid  uint32 // the number of the caller, as eyes see it
	eyes *eyes
	who  identity
	args [6]uint64
}

// int returns an argument that is an int.
func (r *request) int(n int) int32 { return int32(r.args[n]) }

// decide decides about a call. A decision to go on must not rest on memory of the caller, which can
// change until the kernel reads it. A decision that rests on which process has a number must rest
// on no more than the kernel's own would: numbers can change hands at any moment.
func (s *Supervisor) decide(n *notif, by *eyes) verdict {
	call, ok := filter.Lookup(n.Data.Arch, n.Data.Nr)
	if !ok {
		return goOn
	}
	if pid := target(call, &n.Data.Args); pid > 0 && s.here(pid) {
		return s.send(call, &n.Data.Args) // for any caller: finding the caller costs more than all else
	}
	r := &request{id: n.ID, tid: n.PID, eyes: by, args: n.Data.Args}
	rule := unnumbered[call]
	if rule != nil {
		r.who.pid, ok = by.number(n.PID)
	} else {
		rule = rules[call]
		r.who, ok = by.caller(n.PID)
	}
	if !ok || rule == nil {
		return goOn
	}
	s.launched.runs(r.who.pid)
	return rule(s, r)
}

// unnumbered are the rules of calls that mean the same whatever numbers their caller knows, also in
// a PID namespace further in. Of the caller they have only its number.
var unnumbered = map[filter.Call]func(*Supervisor, *request) verdict{
	filter.Getppid:     (*Supervisor).getppid,
	filter.Setpgid:     (*Supervisor).setpgid, // looks at the numbers itself
	filter.Setsid:      (*Supervisor).setsid,
	filter.Prctl:       (*Supervisor).prctl,
	filter.Credentials: (*Supervisor).credentials,
	filter.Setresuid:   func(s *Supervisor, r *request) verdict { return s.setres(r, users) },
	filter.Setresgid:   func(s *Supervisor, r *request) verdict { return s.setres(r, groups) },

	filter.PidfdSignal:   func(s *Supervisor, r *request) verdict { return s.pidfdSignal(r, false) },
	filter.PidfdSignal32: func(s *Supervisor, r *request) verdict { return s.pidfdSignal(r, true) },
	filter.PidfdGetfd:    (*Supervisor).pidfdGetfd,
}

// rules are the rules of the other calls.
var rules = map[filter.Call]func(*Supervisor, *request) verdict{
	filter.Getpgid:      func(s *Supervisor, r *request) verdict { return s.ask(r, wire.CallGetpgid) },
	filter.Getsid:       func(s *Supervisor, r *request) verdict { return s.ask(r, wire.CallGetsid) },
	filter.Kill:         (*Supervisor).kill,
	filter.Tkill:        func(s *Supervisor, r *request) verdict { return s.tgkill(r, 0, r.int(0), r.int(1)) },
	filter.Tgkill:       func(s *Supervisor, r *request) verdict { return s.tgkill(r, r.int(0), r.int(1), r.int(2)) },
	filter.Sigqueue:     func(s *Supervisor, r *request) verdict { return s.sigqueue(r, false) },
	filter.Sigqueue32:   func(s *Supervisor, r *request) verdict { return s.sigqueue(r, true) },
	filter.Tgsigqueue:   func(s *Supervisor, r *request) verdict { return s.tgsigqueue(r, false) },
	filter.Tgsigqueue32: func(s *Supervisor, r *request) verdict { return s.tgsigqueue(r, true) },
	filter.PidfdOpen:    (*Supervisor).pidfdOpen,
	filter.Ptrace:       (*Supervisor).ptrace,
}

// target returns the process or thread that a call is about; 0: there is none.
func target(call filter.Call, args *[6]uint64) int32 {
	switch call {
	case filter.Getpgid, filter.Getsid, filter.Kill, filter.Tkill, filter.Sigqueue, filter.Sigqueue32, filter.PidfdOpen:
		return int32(args[0])
	case filter.Tgkill, filter.Tgsigqueue, filter.Tgsigqueue32, filter.Ptrace:
		return int32(args[1])
	default:
		return 0
	}
}

// here reports whether a number is that of a process or thread of the space, or cannot belong to
// any other: then the kernel of this node knows best. Below the numbers of nodes there are also
// init's own threads and helpers; a call that names one of those is about the front end.
func (s *Supervisor) here(n int32) bool {
	if pid := wire.PID(n); pid < pidmap.Node {
		e, ok := s.launched.get(pid)
		return ok && e.started
	}
	return s.frontEnd.Ours(wire.PID(n)) || s.view.exists(wire.PID(n))
}

// ask asks the front end about a process that is not in the space.
func (s *Supervisor) ask(r *request, op wire.CallOp) verdict {
	if pid := r.int(0); pid > 0 && !s.here(pid) {
		return s.call(r, &wire.Call{Caller: r.who.pid, Op: op, Args: []int64{int64(pid)}}, nil)
	}
	return goOn
}

// call has the front end carry out a call. The caller gets the result, unless then changes it.
func (s *Supervisor) call(req *request, c *wire.Call, then func(context.Context, verdict) verdict) verdict {
	if v, is := s.apart(req, c); is {
		return v
	}
	switch c.Op {
	case wire.CallKill, wire.CallTgkill, wire.CallSigqueue, wire.CallTgsigqueue:
		c.NoKill = req.eyes.weak(req.tid)
	default: // the others send no signal
	}
	return verdict{wait: func(ctx context.Context) verdict {
		r, err := s.frontEnd.Call(ctx, req.id, c)
		if err != nil {
			return failure(unix.EIO)
		}
		v := result(r.Value)
		if r.Errno != 0 {
			v = failure(unix.Errno(r.Errno))
		}
		if then != nil {
			v = then(ctx, v)
		}
		return v
	}}
}

// getppid answers with the parent on the front end for a process that was started from there, and
// for one whose parent in the space has ended, since init is not in the cluster.
func (s *Supervisor) getppid(r *request) verdict {
	if e, ok := s.launched.get(r.who.pid); ok {
		if e.parent > 0 {
			return result(int64(e.parent))
		}
		return goOn
	}
	if who, ok := r.eyes.caller(r.tid); ok && who.parent == r.eyes.init {
		return s.call(r, &wire.Call{Caller: r.who.pid, Op: wire.CallGetppid}, nil)
	}
	return goOn
}

// ptrace: tracing a process of another machine fails as if the caller may not (ptrace(2)). Init's
// threads and helpers have numbers that are elsewhere, so they cannot be traced either.
func (s *Supervisor) ptrace(r *request) verdict { return s.elsewhere(r, r.int(1), unix.EPERM) }

// elsewhere has a call about a process elsewhere fail with errno, if there is such a process.
func (s *Supervisor) elsewhere(r *request, pid int32, errno unix.Errno) verdict {
	if pid <= 0 || s.here(pid) {
		return goOn
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallExists, Args: []int64{int64(pid)}}
	return s.call(r, c, func(_ context.Context, v verdict) verdict {
		if v.errno != 0 {
			return v
		}
		return failure(errno)
	})
}

// maxSignal is the highest number of a signal.
const maxSignal = 64

// prctl reports the attributes that the ghost must have, too. The signal at the parent's end
// matters only if the parent is on the front end.
func (s *Supervisor) prctl(r *request) verdict {
	var tell func()
	switch value := r.args[1]; r.int(0) {
	case unix.PR_SET_CHILD_SUBREAPER:
		tell = func() { s.frontEnd.Reaper(r.who.pid, value != 0) }
	case unix.PR_SET_PDEATHSIG:
		if _, ok := s.launched.get(r.who.pid); ok && value <= maxSignal {
			tell = func() { s.frontEnd.Death(r.who.pid, int(value)) }
		}
	}
	if tell == nil {
		return goOn
	}
	return verdict{wait: func(context.Context) verdict { tell(); return goOn }}
}

package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// madeUpFrontEnd is a model of the front end's kernel.
type madeUpFrontEnd struct{ procs map[wire.PID]frontProc }

type frontProc struct {
	parent, group, session wire.PID
	uid                    uint32
	cgroup                 string
	limit                  uint64
}

func (f *madeUpFrontEnd) find(pid wire.PID) (frontProc, error) {
	p, ok := f.procs[pid]
	if !ok {
		return p, unix.ESRCH
	}
	return p, nil
}

// exists returns nil if there is such a process or, for a negative number, such a group.
func (f *madeUpFrontEnd) exists(pid wire.PID) error {
	for p, proc := range f.procs {
		if p == pid || proc.group == -pid {
			return nil
		}
	}
	return unix.ESRCH
}

// mayJoin has the rule of setpgid(2).
func (f *madeUpFrontEnd) mayJoin(pid, group wire.PID) error {
	p, err := f.find(pid)
	if err != nil || group <= 0 || p.session == 0 {
		return unix.EPERM
	}
	for _, proc := range f.procs {
		if proc.group == group && proc.session == p.session {
			return nil
		}
	}
	return unix.EPERM
}

// members returns the processes that are in a group.
func (f *madeUpFrontEnd) members(q Members) *Answer {
	a := &Answer{PID: q.Group}
	if a.PID == 0 {
		a.PID = f.procs[q.Of].group
	}
	for _, pid := range q.Among {
		if p, err := f.find(pid); err == nil && p.group == a.PID {
			a.PIDs = append(a.PIDs, pid)
		}
	}
	return a
}

// answer answers a question; nil: it is answered later.
func (s *script) answer(o Ask) *Answer {
	a := new(Answer)
	var err error
	switch q := o.Question.(type) {
	case ParentOf:
		var p frontProc
		p, err = s.front.find(q.PID)
		a.PID = p.parent
	case GroupOf:
		var p frontProc
		p, err = s.front.find(q.PID)
		a.PID = p.group
	case SessionOf:
		var p frontProc
		p, err = s.front.find(q.PID)
		a.PID = p.session
	case Exists:
		err = s.front.exists(q.PID)
	case MayJoin:
		err = s.front.mayJoin(q.PID, q.Group)
	case Members:
		a = s.front.members(q)
	case FreeNumber:
		a.PID = s.nextFree()
	case IsRoot:
		p, err := s.front.find(q.PID)
		a.Root = err != nil || p.uid == 0
	case EndOf:
		if _, err = s.front.find(q.PID); err == nil && q.Wait {
			s.ends[q.PID] = append(s.ends[q.PID], o.Number)
			return nil
		}
	case ParentAfter:
		s.left[q.PID] = o.Number
		return nil
	case TaskGroupsOf:
		a = s.tree.settle(q)
	case CountTasks:
		a.Groups = s.tree.count(q.Paths)
	default:
		s.Fatalf("an unknown question: %T", q)
	}
	if err != nil && !errors.As(err, &a.Errno) {
		s.Fatal(err)
	}
	a.Number = o.Number
	return a
}

// proc enters or changes a process of the front end, a ghost or another.
func (s *script) proc(args []string) {
	pid := s.pid(args[0])
	p := s.front.procs[pid]
	p.parent = wire.PID(s.option(args, "parent", int(p.parent)))
	p.group = wire.PID(s.option(args, "pgid", int(p.group)))
	p.session = wire.PID(s.option(args, "sid", int(p.session)))
	p.uid = uint32(s.option(args, "uid", int(p.uid)))
	p.limit = uint64(s.option(args, "limit", int(p.limit)))
	if path, ok := s.word(args, "cgroup"); ok {
		p.cgroup = path
	}
	s.front.procs[pid] = p
}

func (s *script) none(args []string) {
	pid := s.pid(args[0])
	delete(s.front.procs, pid)
	ended := s.ends[pid]
	delete(s.ends, pid)
	for _, number := range ended {
		s.step(Answer{Number: number})
	}
}

// ops are the names of calls.
var ops = map[string]wire.CallOp{
	"getppid": wire.CallGetppid, "getpgid": wire.CallGetpgid, "getsid": wire.CallGetsid,
	"kill": wire.CallKill, "tgkill": wire.CallTgkill, "sigqueue": wire.CallSigqueue, "tgsigqueue": wire.CallTgsigqueue,
	"group": wire.CallGroup, "exists": wire.CallExists, "end": wire.CallEnd, "unknown": 99,
}

func callName(op wire.CallOp) string {
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		if ops[name] == op {
			return name
		}
	}
	return fmt.Sprint(op)
}

// call has a slave make a call.
func (s *script) call(args []string) {
	op, ok := ops[args[3]]
	if !ok {
		s.Fatalf("no call %q", args[3])
	}
	m := &wire.Call{Caller: s.pid(args[2]), Op: op}
	rest := args[4:]
	if i := slices.Index(rest, "info"); i >= 0 {
		m.Info = wire.KernelSignal(0)
		rest = rest[:i]
	}
	for _, word := range rest {
		m.Args = append(m.Args, int64(s.number(word)))
	}
	s.fromNode(s.session(args[0]), uint64(s.number(args[1])), m)
}

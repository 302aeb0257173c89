package master

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// madeUpFrontEnd is the front end's kernel.
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

func (f *madeUpFrontEnd) Group(pid wire.PID) (wire.PID, error) {
	p, err := f.find(pid)
	return p.group, err
}

func (f *madeUpFrontEnd) Session(pid wire.PID) (wire.PID, error) {
	p, err := f.find(pid)
	return p.session, err
}

func (f *madeUpFrontEnd) Parent(pid wire.PID) (wire.PID, error) {
	p, err := f.find(pid)
	return p.parent, err
}

func (f *madeUpFrontEnd) Signal(pid wire.PID) error {
	for p, proc := range f.procs {
		if p == pid || proc.group == -pid {
			return nil
		}
	}
	return unix.ESRCH
}

func (f *madeUpFrontEnd) Member(group, session wire.PID) error {
	for _, proc := range f.procs {
		if proc.group == group && proc.session == session {
			return nil
		}
	}
	return unix.EPERM
}

// Open returns a file of which the name says what process it stands for.
func (f *madeUpFrontEnd) Open(pid wire.PID) (*os.File, error) {
	if _, err := f.find(pid); err != nil {
		return nil, err
	}
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return os.NewFile(uintptr(fd), pid.String()), err
}

// atEnd does something at the end of a process, which none says.
func (s *script) atEnd(f *os.File, ended func()) {
	s.ends[f.Name()] = append(s.ends[f.Name()], ended)
}

func (f *madeUpFrontEnd) Owner(pid wire.PID) (uint32, error) {
	p, err := f.find(pid)
	return p.uid, err
}

func (f *madeUpFrontEnd) Root(pid wire.PID) bool {
	p, err := f.find(pid)
	return err != nil || p.uid == 0
}

func (f *madeUpFrontEnd) Limit(pid wire.PID) (uint64, error) {
	p, err := f.find(pid)
	return p.limit, err
}

// proc is a process of the front end, a ghost or another.
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
	ended := s.ends[pid.String()]
	delete(s.ends, pid.String())
	for _, tell := range ended {
		tell()
	}
}

// work is the worker.
func (s *script) work() {
	for {
		select {
		case job := <-s.core.jobs:
			s.core.jobDone(job())
		default:
			return
		}
	}
}

// place says where the process of a Spawn is to be.
func place(s *step) string {
	text := ""
	if s.pgid != 0 || s.sid != 0 {
		text = fmt.Sprintf(", pgid %d sid %d", s.pgid, s.sid)
	}
	if s.taskGroup != 0 {
		text += fmt.Sprintf(", group %d: %d", s.taskGroup, s.tasks)
	}
	return text
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

// call has a slave ask for a call.
func (s *script) call(args []string) {
	op, ok := ops[args[3]]
	if !ok {
		s.Fatalf("no call %q", args[3])
	}
	m := &wire.Call{Caller: s.pid(args[2]), Op: op}
	rest := args[4:]
	if i := slices.Index(rest, "info"); i >= 0 {
		m.Info = kernelSignal(0)
		rest = rest[:i]
	}
	for _, word := range rest {
		m.Args = append(m.Args, int64(s.number(word)))
	}
	s.core.fromSlave(s.session(args[0]), uint64(s.number(args[1])), m)
}

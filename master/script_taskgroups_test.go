package master

import (
	"math"
	"path"

	"golang.org/x/sys/unix"

	"bproc/internal/taskgroup"
	"bproc/wire"
)

// madeUpTree is the front end's control groups.
type madeUpTree struct {
	s      *script
	groups map[string]taskgroup.Group
}

func (t *madeUpTree) Of(pid int) (string, error) {
	p, err := t.s.front.find(wire.PID(pid))
	return p.cgroup, err
}

func (t *madeUpTree) Bounds(at string) (all []taskgroup.Group, err error) {
	for ; at != "/" && at != "."; at = path.Dir(at) {
		if g, bounded, err := t.Look(at); err == nil && bounded {
			all = append(all, g)
		}
	}
	return all, nil
}

func (t *madeUpTree) Look(at string) (g taskgroup.Group, bounded bool, err error) {
	g, ok := t.groups[at]
	if !ok {
		return g, false, unix.ENOENT
	}
	return g, g.Max != math.MaxUint64, nil
}

func (t *madeUpTree) Enter(pid int, at string) error {
	p, err := t.s.front.find(wire.PID(pid))
	if _, ok := t.groups[at]; !ok {
		err = unix.ENOENT
	}
	if err == nil {
		t.s.say("%d enters %s", pid, at)
		p.cgroup = at
		t.s.front.procs[wire.PID(pid)] = p
	}
	return err
}

func (s *script) cgroup(args []string) {
	g := taskgroup.Group{Path: args[0], ID: uint64(s.number(args[1])), Max: uint64(s.number(args[2])), Now: uint64(s.number(args[3]))}
	if g.Max == 0 {
		g.Max = math.MaxUint64
	}
	s.core.tasks.(*madeUpTree).groups[g.Path] = g
}

func (s *script) ghosts(args []string) { s.core.ghosts = args[0] }

func (s *script) bounded(args []string) {
	s.core.fromSlave(s.session(args[0]), 0, &wire.Bounded{UID: uint32(s.number(args[1])), Group: uint64(s.number(args[2])), Tasks: uint64(s.number(args[3]))})
}

package core

import (
	"math"
	"path"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// madeUpTree is a model of the front end's control groups.
type madeUpTree struct {
	s      *script
	groups map[string]TaskGroup
}

// settle has a process enter a group, if the question wants that, and returns the groups that bound
// it.
func (t *madeUpTree) settle(q TaskGroupsOf) *Answer {
	p, err := t.s.front.find(q.PID)
	a := new(Answer)
	if q.Into != "" {
		if _, ok := t.groups[q.Into]; !ok {
			err = unix.ENOENT
		}
		if err != nil {
			a.Text = err.Error()
		} else {
			t.s.say("%d enters %s", q.PID, q.Into)
			p.cgroup = q.Into
			t.s.front.procs[q.PID] = p
		}
	}
	if _, err := t.s.front.find(q.PID); err != nil {
		a.Errno = unix.ESRCH
		return a
	}
	for at := p.cgroup; at != "" && at != "/" && at != "."; at = path.Dir(at) {
		a.Groups = append(a.Groups, t.count([]string{at})...)
	}
	return a
}

// count returns the groups that bound their tasks.
func (t *madeUpTree) count(paths []string) (all []TaskGroup) {
	for _, at := range paths {
		if g, ok := t.groups[at]; ok && g.Max != math.MaxUint64 {
			all = append(all, g)
		}
	}
	return all
}

func (s *script) cgroup(args []string) {
	g := TaskGroup{Path: args[0], ID: uint64(s.number(args[1])), Max: uint64(s.number(args[2])), Now: uint64(s.number(args[3]))}
	if g.Max == 0 {
		g.Max = math.MaxUint64
	}
	s.tree.groups[g.Path] = g
}

func (s *script) ghosts(args []string) { s.core.config.Ghosts = args[0] }

func (s *script) bounded(args []string) {
	s.fromNode(s.session(args[0]), 0, &wire.Bounded{UID: uint32(s.number(args[1])), Group: uint64(s.number(args[2])), Tasks: uint64(s.number(args[3]))})
}

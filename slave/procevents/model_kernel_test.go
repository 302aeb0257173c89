package procevents_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// The model's kernel: processes that fork, execute, change groups, sessions and
// credentials, stop, go on and end.

type task struct {
	pid, parent, pgid, sid wire.PID
	user                   wire.IDs
	stop                   wire.Status // the signal; 0: runs
	argv                   string
	launched               bool
	moved                  bool      // has left the group of its birth, or descends from a process that has
	heard                  time.Time // when the record of its birth was drained
	after                  uint64    // the front end's last event then
	family                 *family
}

// family is a process that was started from the front end, with its descendants.
type family struct {
	unnamed bool // the ghost's group has no number on the front end
	mixed   bool // a process has changed groups
}

type kernel struct {
	rng      *rand.Rand
	tasks    map[wire.PID]*task
	order    []wire.PID
	next     wire.PID // the last number given on the node
	numbers  wire.PID // how many numbers it has
	launched wire.PID // the last number given on the front end
	images   int
	records  []noted
	zombies  map[wire.PID]*task
	ends     map[wire.PID]wire.Status   // of processes started from the front end
	died     map[wire.PID][]wire.Status // how the owners of a number have ended
}

// noted is a record, or a state in which a process was seen.
type noted struct {
	procevents.Record
	seen *procevents.ProcessInfo
}

func newKernel(seed uint64) *kernel {
	k := &kernel{
		rng: rand.New(rand.NewPCG(seed, 0)), tasks: map[wire.PID]*task{}, ends: map[wire.PID]wire.Status{}, zombies: map[wire.PID]*task{},
		died: map[wire.PID][]wire.Status{}, next: pidmap.Node, launched: 1000,
	}
	k.numbers = wire.PID([]int{10, 40, 100, 1 << 20}[k.rng.IntN(4)])
	return k
}

// number gives a process a number that no process, group or session has; false: there is none.
func (k *kernel) number() (wire.PID, bool) {
	for range k.numbers {
		if k.next++; k.next >= pidmap.Node+k.numbers {
			k.next = pidmap.Node
		}
		if !k.inUse(k.next) {
			return k.next, true
		}
	}
	return 0, false
}

func (k *kernel) inUse(n wire.PID) bool {
	for _, all := range []map[wire.PID]*task{k.tasks, k.zombies} {
		for _, p := range all {
			if p.pid == n || p.pgid == n || p.sid == n {
				return true
			}
		}
	}
	return false
}

// sessions of the front end's own, with their groups, which it has whatever happens.
var sessions = map[wire.PID][]wire.PID{50: {50, 51, 52}, 60: {60, 61}}

func (k *kernel) pick() *task { return k.tasks[k.order[k.rng.IntN(len(k.order))]] }

func (k *kernel) add(p *task) {
	k.tasks[p.pid] = p
	k.order = append(k.order, p.pid)
}

// note appends a record once or, now and then, twice.
func (k *kernel) note(r procevents.Record) {
	for range 1 + k.rng.IntN(20)/19 {
		k.records = append(k.records, noted{Record: r})
	}
}

// launch starts a process in a group and session of the front end, in a group of its own, in a
// session of its own, or where group and session have no numbers.
func (k *kernel) launch() (*task, *wire.Spawn) {
	k.launched++
	pid := k.launched
	spawn := &wire.Spawn{PID: pid, SID: 50, UID: uint32(k.rng.IntN(2))}
	if k.rng.IntN(2) == 0 {
		spawn.SID = 60
	}
	groups := sessions[spawn.SID]
	spawn.PGID = groups[k.rng.IntN(len(groups))]
	switch k.rng.IntN(6) {
	case 0:
		spawn.PGID = pid
	case 1:
		spawn.PGID, spawn.SID = pid, pid
	case 2:
		spawn.PGID, spawn.SID = 0, 0
	}
	p := &task{
		pid: pid, parent: 1, pgid: spawn.PGID, sid: spawn.SID, launched: true,
		user: wire.IDs{Real: spawn.UID, Effective: spawn.UID, Saved: spawn.UID}, family: &family{unnamed: spawn.PGID == 0},
	}
	if p.family.unnamed {
		p.pgid, p.sid = pid, 1
	}
	k.add(p)
	return p, spawn
}

func (k *kernel) fork(creator *task) {
	if creator.stop != 0 {
		return
	}
	pid, ok := k.number()
	if !ok {
		return
	}
	child := *creator
	child.pid, child.parent, child.launched, child.heard = pid, creator.pid, false, time.Time{}
	if k.rng.IntN(10) == 0 { // CLONE_PARENT
		child.parent = creator.parent
	}
	k.add(&child)
	k.records = append(k.records, noted{Record: procevents.Record{
		Kind: procevents.Forked, PID: child.pid, Parent: child.parent, Creator: creator.pid,
		PGID: child.pgid, SID: child.sid, User: child.user,
	}})
}

func (k *kernel) exec(p *task) {
	if p.stop != 0 {
		return
	}
	k.images++
	p.argv = fmt.Sprint("image ", k.images)
	if k.rng.IntN(4) == 0 { // a set-user-ID program
		p.user.Effective = uint32(k.rng.IntN(3))
		p.user.Saved = p.user.Effective
	}
	k.records = append(k.records, noted{Record: procevents.Record{Kind: procevents.Execed, PID: p.pid, PGID: p.pgid, SID: p.sid, User: p.user}})
}

// regroup changes a group or session, if that is possible, and has it seen.
func (k *kernel) regroup(p *task) {
	if p.sid == p.pid || p.stop != 0 {
		return
	}
	switch k.rng.IntN(5) {
	case 0:
		p.pgid = p.pid
	case 1:
		if k.groupExists(p.pid) || p.moved && p.family.unnamed { // otherwise its ghost may lead a group that it cannot leave
			return
		}
		p.pgid, p.sid = p.pid, p.pid
	case 2:
		k.join(p, k.pick())
	case 3:
		for _, pid := range k.sorted() {
			k.join(p, k.zombies[pid])
		}
	case 4:
		groups := sessions[p.sid]
		if groups == nil {
			return
		}
		p.pgid = groups[k.rng.IntN(len(groups))]
	}
	k.see(p)
}

// regroupZombie has the parent of a process that has ended change its group.
func (k *kernel) regroupZombie() {
	for _, pid := range k.sorted() {
		z := k.zombies[pid]
		parent := k.tasks[z.parent]
		if parent == nil || parent.sid != z.sid || z.sid == z.pid {
			continue
		}
		if k.rng.IntN(2) == 0 {
			z.pgid = z.pid
		} else {
			k.join(z, k.pick())
		}
		k.see(z)
	}
}

// sorted returns the numbers of the zombies in order: each run must be the same.
func (k *kernel) sorted() []wire.PID { return slices.Sorted(maps.Keys(k.zombies)) }

func (k *kernel) groupExists(pgid wire.PID) bool {
	in := func(p *task) bool { return p.pgid == pgid }
	return slices.ContainsFunc(slices.Collect(maps.Values(k.tasks)), in) || slices.ContainsFunc(slices.Collect(maps.Values(k.zombies)), in)
}

func (k *kernel) join(p, other *task) {
	if strange := p.family.unnamed && other.family != p.family; other.sid == p.sid && !strange {
		p.pgid = other.pgid
	}
}

// see has a change of a process seen.
func (k *kernel) see(p *task) {
	p.family.mixed, p.moved = true, true
	k.records = append(k.records, noted{seen: &procevents.ProcessInfo{
		PID: p.pid, Parent: p.parent, PGID: p.pgid, SID: p.sid, User: p.user,
	}})
}

// halt stops a process or lets it go on.
func (k *kernel) halt(p *task) {
	if p.stop == 0 {
		p.stop = wire.Status(19 + k.rng.IntN(4))
		k.note(procevents.Record{Kind: procevents.Stopped, PID: p.pid, Status: p.stop})
		return
	}
	p.stop = 0
	k.note(procevents.Record{Kind: procevents.Continued, PID: p.pid})
}

func (k *kernel) exit(p *task) {
	delete(k.tasks, p.pid)
	i := slices.Index(k.order, p.pid)
	k.order = slices.Delete(k.order, i, i+1)
	for _, child := range k.tasks {
		if child.parent == p.pid {
			child.parent = 1
		}
	}
	status := wire.ExitStatus(k.rng.IntN(256))
	k.died[p.pid] = append(k.died[p.pid], status)
	if p.launched {
		k.ends[p.pid] = status
		return
	}
	k.note(procevents.Record{Kind: procevents.Exited, PID: p.pid, Status: status})
	if k.rng.IntN(3) == 0 {
		clear(k.zombies)
	}
	if k.rng.IntN(2) == 0 {
		k.zombies[p.pid] = p
	}
}

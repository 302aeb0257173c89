package sim

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// kernel is the kernel of the front end.
type kernel struct {
	sim   *Sim
	procs map[wire.PID]*local
	next  wire.PID
}

// local is a process of the front end: a client, or a ghost.
type local struct {
	pid, parent    wire.PID
	group, session wire.PID
	uid            uint32
	name           string
	cgroup         uint64 // that bounds tasks; 0: none
	ghost          *ghost // nil: it is not a ghost
}

func newKernel(s *Sim) *kernel {
	return &kernel{sim: s, procs: map[wire.PID]*local{1: {pid: 1}}, next: firstNumber}
}

// firstNumber is the first number that the kernel gives.
const firstNumber = 100

// lastNumber is so small that numbers are reused soon.
const lastNumber = 160

// fork makes a process with the next free number.
func (k *kernel) fork(parent wire.PID) *local {
	taken := k.taken()
	for k.next++; k.next > lastNumber || taken[k.next]; k.next++ {
		if k.next >= lastNumber {
			k.next = firstNumber
		}
	}
	p := &local{pid: k.next, parent: parent, group: k.next, session: k.next}
	k.procs[p.pid] = p
	return p
}

// taken returns the numbers of processes and groups, and of ended ghosts that their clients have
// not waited for.
func (k *kernel) taken() map[wire.PID]bool {
	taken := maps.Clone(k.sim.keeper.spent)
	for pid, p := range k.procs {
		taken[pid], taken[p.group], taken[p.session] = true, true, true
	}
	for _, c := range k.sim.everyone {
		if !c.left {
			taken[c.ghost] = true
		}
	}
	return taken
}

// free returns the number of free numbers.
func (k *kernel) free() (free int) {
	taken := k.taken()
	for pid := wire.PID(firstNumber); pid <= lastNumber; pid++ {
		if !taken[pid] {
			free++
		}
	}
	return free
}

// end ends a process; init adopts its children.
func (k *kernel) end(pid wire.PID) {
	delete(k.procs, pid)
	k.orphan(pid)
}

// orphan gives the children of a process to init.
func (k *kernel) orphan(pid wire.PID) {
	for _, p := range k.procs {
		if p.parent == pid {
			p.parent = 1
		}
	}
}

func (k *kernel) parent(pid wire.PID) (wire.PID, unix.Errno) {
	if p := k.procs[pid]; p != nil {
		return p.parent, 0
	}
	return 0, unix.ESRCH
}

func (k *kernel) exists(pid wire.PID) unix.Errno {
	if pid < 0 {
		for _, p := range k.procs {
			if p.group == -pid {
				return 0
			}
		}
		return unix.ESRCH
	}
	if k.procs[pid] == nil {
		return unix.ESRCH
	}
	return 0
}

func (k *kernel) members(q core.Members) (group wire.PID, all []wire.PID) {
	group = q.Group
	if p := k.procs[q.Of]; group == 0 && p != nil {
		group = p.group
	}
	for _, pid := range q.Among {
		if p := k.procs[pid]; p != nil && p.group == group {
			all = append(all, pid)
		}
	}
	return group, all
}

// userActs makes a user of the front end send a signal to some process.
func (k *kernel) userActs() {
	var ghosts []wire.PID
	for _, pid := range slices.Sorted(maps.Keys(k.procs)) {
		if g := k.procs[pid].ghost; g != nil && g.held {
			ghosts = append(ghosts, pid)
		}
	}
	if len(ghosts) == 0 {
		return
	}
	sig := pick(k.sim.rng, []unix.Signal{
		unix.SIGUSR1, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTERM, unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP, unix.SIGCONT, unix.SIGCONT,
	})
	pid := pick(k.sim.rng, ghosts)
	if k.sim.chance(6) {
		k.killGroup(k.procs[pid].group, sig)
	} else {
		k.kill(pid, sig)
	}
}

// kill sends a signal to a ghost, which the keeper sees.
func (k *kernel) kill(pid wire.PID, sig unix.Signal) {
	g := k.procs[pid].ghost
	k.sim.note("kill %d %s", pid, unix.SignalName(sig))
	g.gets(sig, siUser, 0)
}

package ghost

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// become gives a ghost the credentials of its process. The ghost must be able to change them again
// and to have children with chosen numbers in between. So the ghost of a process that is not root's
// keeps the capabilities of its image, and no others: by them the kernel allows or refuses the
// signals that it sends.
//
// No user can make use of them. A ghost runs a few fixed system calls and the keeper's code, and no
// process that lacks one of its permitted capabilities can trace it or reach its memory (ptrace(2),
// "Ptrace access mode checking"), whether it is dumpable or not. A process that is traced by a
// tracer of its own does not get them when it executes the image (execve(2)).
func (s *shard) become(g *held, user, group wire.IDs) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer func() { d.release() }()
	if err := d.learnDeath(); err != nil {
		return err
	}
	user, group = changed(g.user, user), changed(g.group, group)
	// The kernel forgets the process's PR_SET_PDEATHSIG signal when these change (prctl(2)), and
	// does the same for the ghost.
	if user.Effective != g.user.Effective || group.Effective != g.group.Effective {
		g.death = 0
	}
	if user.Effective == 0 && !g.root {
		if d, err = d.becomeRoot(); err != nil {
			return err
		}
	}
	l := d.list()
	l.setIDs(func() { g.group = group }, unix.SYS_SETRESGID, group)
	d.setUser(l, user)
	d.setDeath(l)
	return d.make(l)
}

// becomeRoot gives a ghost all capabilities. Only execve(2) does that, and only if both the real
// and the effective user are root, as the image has file capabilities (handle_privileged_root of
// security/commoncap.c).
func (d *driven) becomeRoot() (*driven, error) {
	argv, err := commandLine(d.g.pid)
	if err != nil {
		return d, err
	}
	name, err := readProc(d.g.pid, "comm")
	if err != nil {
		return d, err
	}
	if err := d.becomeUser(wire.IDs{}); err != nil {
		return d, err
	}
	d, err = d.execute(argv, strings.TrimSuffix(string(name), "\n"))
	if err == nil {
		d.g.root = true
	}
	return d, err
}

// becomeUser changes a ghost's user.
func (d *driven) becomeUser(user wire.IDs) error {
	l := d.list()
	d.setUser(l, user)
	return d.make(l)
}

// setUser adds to a list the calls that change a ghost's user. Unless that is root, the ghost has
// the capabilities of its image afterwards.
func (d *driven) setUser(l *list, user wire.IDs) {
	keep := hasRoot(d.g.user) && !hasRoot(user)
	if keep { // it would lose all of them without this (capabilities(7))
		l.call(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1)
	}
	l.setIDs(func() {
		d.g.user = user
		if user.Effective != 0 {
			d.g.root = false
		}
	}, unix.SYS_SETRESUID, user)
	if user.Effective != 0 {
		l.limit()
	}
	if keep {
		l.call(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 0)
	}
}

// changed returns the credentials after setresuid(2): -1 leaves an ID as it is.
func changed(before, to wire.IDs) wire.IDs {
	const same = ^uint32(0)
	if to.Real == same {
		to.Real = before.Real
	}
	if to.Effective == same {
		to.Effective = before.Effective
	}
	if to.Saved == same {
		to.Saved = before.Saved
	}
	return to
}

func hasRoot(user wire.IDs) bool { return user.Real == 0 || user.Effective == 0 || user.Saved == 0 }

func (l *list) setIDs(after func(), number uint64, ids wire.IDs) {
	l.callThen(after, number, uint64(ids.Real), uint64(ids.Effective), uint64(ids.Saved))
}

// limit leaves a ghost only the capabilities of its image.
func (l *list) limit() { l.setCapabilities(nil, imageCapabilities, imageCapabilities) }

// setCapabilities is capset(2).
func (l *list) setCapabilities(after func(), effective, permitted uint64) {
	const version3 = 0x20080522
	header := binary.LittleEndian.AppendUint32(nil, version3)
	header = binary.LittleEndian.AppendUint32(header, 0) // the caller itself
	var data []byte
	for _, shift := range []int{0, 32} {
		for _, set := range []uint64{effective, permitted, 0} { // the last: inheritable
			data = binary.LittleEndian.AppendUint32(data, uint32(set>>shift))
		}
	}
	l.callThen(after, unix.SYS_CAPSET, l.put(header), l.put(data))
}

// trait sets an attribute of prctl(2) that the kernel heeds when ghosts end.
func (s *shard) trait(g *held, option, value uint32) error {
	if option != unix.PR_SET_CHILD_SUBREAPER && option != unix.PR_SET_PDEATHSIG {
		return unix.EINVAL
	}
	if option == unix.PR_SET_CHILD_SUBREAPER {
		s.awaitEnds() // some ghosts' children may have moved to other parents by then
	}
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	if _, err := d.call(unix.SYS_PRCTL, uint64(option), uint64(value)); err != nil {
		return err
	}
	if option == unix.PR_SET_PDEATHSIG {
		g.death, g.since = unix.Signal(value), false
	}
	return nil
}

// learnDeath asks a ghost that a former keeper held for its PR_SET_PDEATHSIG signal, before the
// kernel may forget it.
func (d *driven) learnDeath() error {
	if !d.g.since {
		return nil
	}
	var sig [4]byte
	addr := d.scratch()
	if err := d.write(piece{addr, sig[:]}); err != nil {
		return err
	}
	if _, err := d.call(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, addr); err != nil {
		return err
	}
	if err := read(d.g.pid, addr, sig[:]); err != nil {
		return err
	}
	d.g.death, d.g.since = unix.Signal(binary.NativeEndian.Uint32(sig[:])), false
	return nil
}

// setDeath adds to a list the call that sets the signal again that a ghost gets when its parent
// ends. The kernel forgets it when a program with capabilities is executed; the image has
// capabilities, and the program of the process does not.
func (d *driven) setDeath(l *list) {
	if d.g.death != 0 {
		l.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uint64(d.g.death))
	}
}

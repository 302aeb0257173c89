package bpsh

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
)

// tree is a child of this process and its descendants, by number and start time. Descendants
// stay members when a parent has ended, and they have another one: so the tree can be
// signalled twice. On the front end, remote processes are members by their ghosts; on a node,
// those of the child's node are.
type tree struct {
	root    client.PID
	members map[client.PID]uint64
	listing *listing
}

// newTree returns a tree with the child only, if that is there.
func newTree(ctx context.Context, root client.PID, node client.NodeID, from *listing) *tree {
	t := &tree{root: root, members: map[client.PID]uint64{}, listing: from}
	if p, ok := from.of(ctx, root, node); ok {
		t.members[root] = p.start
	}
	return t
}

// signal sends a signal to all members that are left, and has them go on.
func (t *tree) signal(ctx context.Context, sig unix.Signal) {
	t.stop(ctx)
	for pid, start := range t.members {
		t.signalProcess(pid, start, sig)
		t.signalProcess(pid, start, unix.SIGCONT)
	}
}

// stopTime bounds the wait for members to stop: one may be in a system call for long.
// settleTime is how long there must be no more members, since a ghost is made later than its
// process. Of what the child itself has forked all ghosts are there when its ghost has stopped.
const (
	stopTime   = time.Second
	settleTime = 20 * time.Millisecond
)

// stop stops all members, so that none has children that are not known.
func (t *tree) stop(ctx context.Context) {
	deadline := time.Now().Add(stopTime)
	asked := map[client.PID]bool{}
	for grown := time.Now(); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		for pid, start := range t.members {
			if !asked[pid] {
				asked[pid] = true
				t.signalProcess(pid, start, unix.SIGSTOP)
			}
		}
		waiting := !hasStopped(t.root)
		if all := t.listing.get(ctx); t.grow(all) || waiting || t.moves(all) {
			grown = time.Now()
		} else if time.Since(grown) > settleTime {
			return
		}
	}
}

// hasStopped reports whether a child has stopped, or ended. Ghosts are traced, so that in
// /proc they seem to be stopped before they are.
func hasStopped(child client.PID) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, int(child), &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}

// moves reports whether a member is neither stopped nor has ended.
func (t *tree) moves(all map[client.PID]listed) bool {
	for pid, start := range t.members {
		if p, ok := all[pid]; ok && p.start == start && !p.still() {
			return true
		}
	}
	return false
}

// grow adds the children that members have by now, and theirs, and reports whether there were any.
func (t *tree) grow(all map[client.PID]listed) bool {
	before := len(t.members)
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if _, known := t.members[pid]; known {
				continue
			}
			start, known := t.members[p.parent]
			if known && all[p.parent].start == start {
				t.members[pid] = p.start
				grown = true
			}
		}
	}
	return len(t.members) > before
}

// signalProcess sends a signal to a process unless its number is another's by now.
func (t *tree) signalProcess(pid client.PID, start uint64, sig unix.Signal) {
	if p, ok := t.listing.last(pid); ok && p.afar {
		if p.start == start {
			_ = unix.Kill(int(pid), sig)
		}
		return
	}
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return // ended meanwhile
	}
	defer unix.Close(fd)
	if p, ok := lookUp(pid); ok && p.start == start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

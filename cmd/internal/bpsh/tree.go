package bpsh

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
)

// tree is a child of this process and its descendants, by number and start time. Descendants stay
// members when their parent has ended and they have another parent, so the tree can be signalled
// twice. On the front end, the members are ghosts of remote processes. On a node, they are
// processes of the child's node.
type tree struct {
	root    client.PID
	members map[client.PID]uint64
	listing *listing
}

// newTree returns a tree with the child alone, if the child exists.
func newTree(ctx context.Context, root client.PID, node client.NodeID, from *listing) *tree {
	t := &tree{root: root, members: map[client.PID]uint64{}, listing: from}
	if p, ok := from.of(ctx, root, node); ok {
		t.members[root] = p.start
	}
	return t
}

// signal sends a signal and SIGCONT to all remaining members.
func (t *tree) signal(ctx context.Context, sig unix.Signal) {
	t.stop(ctx)
	for pid, start := range t.members {
		t.signalProcess(pid, start, sig)
		t.signalProcess(pid, start, unix.SIGCONT)
	}
}

// stopTime bounds the wait for members to stop: a member may be in a long system call. settleTime
// is how long the tree must not grow, since a ghost is made after its process. When the child's
// ghost has stopped, the ghosts of all processes that the child itself forked exist.
const (
	stopTime   = time.Second
	settleTime = 20 * time.Millisecond
)

// stop stops all members, so that none can have unknown children.
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

// hasStopped reports whether a child has stopped or ended. A traced ghost seems stopped in /proc
// before its process is.
func hasStopped(child client.PID) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, int(child), &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}

// moves reports whether some member has neither stopped nor ended.
func (t *tree) moves(all map[client.PID]listed) bool {
	for pid, start := range t.members {
		if p, ok := all[pid]; ok && p.start == start && !p.still() {
			return true
		}
	}
	return false
}

// grow adds the children of members, recursively, and reports whether there were any.
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

// signalProcess sends a signal to a process, unless another process has its number now.
func (t *tree) signalProcess(pid client.PID, start uint64, sig unix.Signal) {
	if p, ok := t.listing.last(pid); ok && p.afar {
		if p.start == start {
			_ = unix.Kill(int(pid), sig)
		}
		return
	}
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return // it has ended
	}
	defer unix.Close(fd)
	if p, ok := lookUp(pid); ok && p.start == start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

package master

import (
	"context"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Bounds on the processes for whose ends nodes wait, each of which is a descriptor.
const (
	maxEnds     = 4096
	maxEndsNode = 1024 // as many shadows as a node has
)

// roomForEnds is maxEnds, or less where there are few descriptors.
func roomForEnds() int { return min(maxEnds, descriptors()/16) }

// awaitEnd waits for the end of a process, or only tells whether there is one. A ghost is a
// process as any other here, and ends when its process certainly has.
func (c *core) awaitEnd(k *call) {
	waits := k.args[1] != 0
	if waits && (len(c.ends) >= c.maxEnds || k.s.ends >= maxEndsNode) {
		k.fails(unix.EMFILE)
		return
	}
	f, err := c.front.Open(k.pid(0))
	if err != nil {
		k.returns(0, err)
		return
	}
	if !waits {
		k.returns(0, f.Close())
		return
	}
	c.ends[k] = f
	k.s.ends++
	c.atEnd(f, func() {
		delete(c.ends, k)
		k.s.ends--
		_ = f.Close()
		k.answer(0, 0)
	})
}

// forsake is for the end of a session: nobody waits for its calls.
func (c *core) forsake(s *session) {
	for k, f := range c.ends {
		if k.s == s {
			_ = f.Close() // its follower sees that
		}
	}
	c.answersOf(s.node).over(s)
}

// follower waits for the ends of processes, each in a goroutine that the runtime's
// poller wakes.
type follower struct {
	group sync.WaitGroup
	post  func(context.Context, func(*core)) error
}

// follow has the core do something when a process has ended, or the file is closed.
func (w *follower) follow(ctx context.Context, f *os.File, ended func()) {
	w.group.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = f.Close() })
		defer stop()
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Read(func(fd uintptr) bool { return readable(int32(fd)) })
		}
		_ = w.post(ctx, func(*core) { ended() })
	})
}

func readable(fd int32) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: fd, Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

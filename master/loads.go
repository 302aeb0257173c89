package master

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Bounds on the requests of one user that are read or wait, such as launches whose files take long
// to open: in bytes on the wire, and in memory for a launch that has been read.
const (
	maxLoad   = 32 << 20
	smallLoad = 8 << 10 // requests up to this size are not counted, except launches: these can wait for long
	loadTime  = firstFrame
)

// errLoad is the answer to a request that found no room in time.
var errLoad = fmt.Errorf("%w: requests of this user with %d MiB are under way", unix.EAGAIN, maxLoad>>20)

// loads are the bytes of requests, by user, and by node for requests of its processes. A user who
// has taken all the room waits; others do not.
type loads struct {
	mu sync.Mutex
	of map[int64]*userLoad
}

type userLoad struct {
	room  *semaphore.Weighted
	users int // requests that use this load; it is forgotten without any
}

// take takes room for a request, and waits until there is some. release may be called again.
func (l *loads) take(ctx context.Context, who int64, bytes int) (release func(), err error) {
	mine := l.enter(who)
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errLoad)
	defer cancel()
	if mine.room.Acquire(ctx, int64(bytes)) != nil {
		l.leave(who, mine)
		return func() {}, context.Cause(ctx)
	}
	return sync.OnceFunc(func() {
		mine.room.Release(int64(bytes))
		l.leave(who, mine)
	}), nil
}

func (l *loads) enter(who int64) *userLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.of[who]
	if mine == nil {
		mine = &userLoad{room: semaphore.NewWeighted(maxLoad)}
		if l.of == nil {
			l.of = map[int64]*userLoad{}
		}
		l.of[who] = mine
	}
	mine.users++
	return mine
}

func (l *loads) leave(who int64, mine *userLoad) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(l.of, who)
	}
}

// memoryFor returns the memory that the command of a launch takes, with another environment added.
func memoryFor(m *wire.Command, env []string) int {
	return max(leastLaunch, memoryOf(m.Argv)+memoryOf(m.Env)+memoryOf(env))
}

// leastLaunch is what a launch takes in memory in any case, about, in bytes.
const leastLaunch = 512

// admitLaunch takes room for launches that have been read, of so many bytes of memory, in place of that for the request.
// It is not kept while waiting: others of the user may wait for it in the same way.
func (c *clientConn) admitLaunch(ctx context.Context, bytes int) (err error) {
	c.settled()
	if c.settled, err = c.m.loads.take(ctx, c.payer(), min(bytes, maxLoad)); err != nil {
		return errors.Join(err, c.failed(wire.StageRequest, unix.EAGAIN, "requests of this user take too much memory"))
	}
	return nil
}

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

// Bounds on the requests of one user that are being read or wait, for instance launches whose files take long to
// open. Requests count with their bytes on the wire, launches that have been read with their bytes in memory.
const (
	maxLoad   = 32 << 20
	smallLoad = 8 << 10 // requests up to this size are not counted, except launches: these can wait for long
	loadTime  = firstFrame
)

// errLoad is the answer to a request that found no room in time.
var errLoad = fmt.Errorf("%w: requests of this user with %d MiB are under way", unix.EAGAIN, maxLoad>>20)

// loads are the bytes of requests, or of answers, by user; those of a node's processes may count for the node. A
// user who has taken all the room waits; others do not.
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
	releases, err := l.takeAll(ctx, who, []int{bytes})
	if err != nil {
		return func() {}, err
	}
	return releases[0], nil
}

// takeAll takes room for several requests at once. Each gives its own back. Together they take at most maxLoad.
func (l *loads) takeAll(ctx context.Context, who int64, bytes []int) (releases []func(), err error) {
	mine, all := l.enter(who, len(bytes)), 0
	for _, n := range bytes {
		n = min(n, maxLoad-all)
		all += n
		releases = append(releases, sync.OnceFunc(func() {
			mine.room.Release(int64(n))
			l.leave(who, mine, 1)
		}))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errLoad)
	defer cancel()
	if mine.room.Acquire(ctx, int64(all)) != nil {
		l.leave(who, mine, len(bytes))
		return nil, context.Cause(ctx)
	}
	return releases, nil
}

func (l *loads) enter(who int64, requests int) *userLoad {
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
	mine.users += requests
	return mine
}

func (l *loads) leave(who int64, mine *userLoad, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.users -= requests; mine.users == 0 {
		delete(l.of, who)
	}
}

// memoryFor returns the memory in bytes that the command of a launch takes, with more variables added.
func memoryFor(m *wire.Command, env []string) int {
	return max(leastLaunch, memoryOf(m.Argv)+memoryOf(m.Env)+memoryOf(env))
}

// leastLaunch is about what any launch takes in memory, in bytes.
const leastLaunch = 512

// admitLaunch takes room for launches that have been read, of so many bytes of memory each. It first gives back
// the room of the request: two requests that kept theirs could wait for each other.
func (c *clientConn) admitLaunch(ctx context.Context, bytes ...int) (releases []func(), err error) {
	c.settled()
	c.settled = func() {}
	if releases, err = c.m.loads.takeAll(ctx, c.payer(), bytes); err != nil {
		return nil, errors.Join(err, c.failed(wire.StageRequest, unix.EAGAIN, "requests of this user take too much memory"))
	}
	return releases, nil
}

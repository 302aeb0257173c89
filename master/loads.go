package master

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"
)

// Bounds on the requests of one user that are read or wait, such as launches whose files take long
// to open: in bytes on the wire, each of which costs a few in memory.
const (
	maxLoad   = 32 << 20
	smallLoad = 8 << 10 // requests up to this size are not counted: there are not that many connections
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

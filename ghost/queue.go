package ghost

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// request is something that the master wants of a ghost; without a message, to be
// told when all before is carried out.
type request struct {
	master uint64 // connection of the master that asks
	number uint64
	msg    wire.Message

	done func(error) // called in the shard when it is carried out; nil: number is answered

	answered bool // before it is carried out, see tree
}

// queue is the requests that a shard is still to carry out.
type queue struct {
	room chan struct{} // holds something when there may be room again, or never will be

	mu    sync.Mutex
	list  []request
	hangs bool // somebody has waited for room in vain, and nothing was taken since
	ended bool
}

// maxRequests bounds a queue. The reader of the master's connection waits beyond it.
const maxRequests = 1 << 16

// maxFull bounds how long it waits: a shard that hangs is no reason to leave the others'
// ghosts alone.
const maxFull = 10 * time.Second

func newQueue() *queue { return &queue{room: make(chan struct{}, 1)} }

// put appends a request. EAGAIN: there is no room, or nobody will carry it out any more.
func (q *queue) put(r request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || len(q.list) >= maxRequests {
		return unix.EAGAIN
	}
	q.list = append(q.list, r)
	return nil
}

// putWaiting is put, and waits for room. Only one may wait at a time.
func (q *queue) putWaiting(r request) error {
	err := q.put(r)
	if err == nil { // nearly always
		return nil
	}
	timer := time.NewTimer(maxFull)
	defer timer.Stop()
	for err != nil && !q.hopeless() {
		select {
		case <-q.room:
			err = q.put(r)
		case <-timer.C:
			q.mu.Lock()
			q.hangs = len(q.list) >= maxRequests
			q.mu.Unlock()
			return q.put(r)
		}
	}
	return err
}

// hopeless reports whether it is no use to wait for room.
func (q *queue) hopeless() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.hangs || q.ended
}

// take takes all requests out.
func (q *queue) take() []request {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.hangs = nil, false
	q.tell()
	return list
}

// empty reports whether there are none.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) == 0
}

// end lets nothing in any more.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.tell()
}

// tell wakes who waits for room.
func (q *queue) tell() {
	select {
	case q.room <- struct{}{}:
	default:
	}
}

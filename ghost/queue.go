package ghost

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// request is a request of the master for a ghost. One without a message is done when all requests
// before it are carried out.
type request struct {
	master uint64 // connection of the master that made it
	number uint64
	msg    wire.Message

	done func(error) // called in the shard when the request is carried out; nil: number is answered

	answered bool // it was answered before it was carried out, see tree
}

// queue holds the requests that a shard has not yet taken.
type queue struct {
	room chan struct{} // holds something when there may be room again, or never will be

	mu    sync.Mutex
	list  []request
	hangs bool // a wait for room has timed out, and nothing was taken since
	ended bool
}

// maxRequests bounds a queue. The reader of the master's connection waits beyond it.
const maxRequests = 1 << 16

// maxFull bounds that wait: a shard that hangs must not stop the others from being served.
const maxFull = 10 * time.Second

func newQueue() *queue { return &queue{room: make(chan struct{}, 1)} }

// put appends a request. EAGAIN: there is no room, or the shard has ended.
func (q *queue) put(r request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || len(q.list) >= maxRequests {
		return unix.EAGAIN
	}
	q.list = append(q.list, r)
	return nil
}

// putWaiting is put that waits for room. Only one goroutine may wait at a time.
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

// hopeless reports whether waiting for room is useless.
func (q *queue) hopeless() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.hangs || q.ended
}

// take removes and returns all requests.
func (q *queue) take() []request {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.hangs = nil, false
	q.tell()
	return list
}

// quiet reports whether the queue has no requests, and may get some.
func (q *queue) quiet() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) == 0 && !q.ended
}

// end refuses all further requests.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.tell()
}

// tell wakes the goroutine that waits for room.
func (q *queue) tell() {
	select {
	case q.room <- struct{}{}:
	default:
	}
}

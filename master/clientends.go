package master

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/pidfd"
	"bproc/wire"
)

// maxClientEnds bounds the clients whose ends are waited for. Each takes a descriptor.
const maxClientEnds = 1024

// clientEnd is how long a client may take to end after its connection has ended.
const clientEnd = 5 * time.Second

// clientEnds waits for the ends of clients that have left their processes. One wait serves all
// processes of a client.
type clientEnds struct {
	group sync.WaitGroup

	mu      sync.Mutex
	waiting map[wire.PID][]func(error)
}

// follow calls told when a client has ended, or does not end. It reports whether there is room for
// that.
func (e *clientEnds) follow(ctx context.Context, client wire.PID, told func(error)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	others, under := e.waiting[client]
	if !under && len(e.waiting) >= min(maxClientEnds, roomForEnds()) {
		return false
	}
	if e.waiting == nil {
		e.waiting = map[wire.PID][]func(error){}
	}
	e.waiting[client] = append(others, told)
	if !under {
		e.group.Go(func() {
			err := awaitEnd(ctx, client)
			for _, told := range e.take(client) {
				told(err)
			}
		})
	}
	return true
}

func (e *clientEnds) take(client wire.PID) []func(error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := e.waiting[client]
	delete(e.waiting, client)
	return waiting
}

// awaitEnd waits for at most clientEnd until a process has ended. The runtime's poller wakes it: no
// thread waits.
func awaitEnd(ctx context.Context, pid wire.PID) error {
	f, err := kernel{}.open(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer func() { stop(); _ = f.Close() }()
	if err := f.SetReadDeadline(time.Now().Add(clientEnd)); err != nil {
		return err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool { return pidfd.Ended(int(fd), 0) })
}

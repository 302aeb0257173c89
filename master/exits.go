package master

import (
	"context"
	"os"
	"sync"

	"bproc/internal/pidfd"
)

// maxEnds bounds the processes for whose ends nodes wait. Each takes a descriptor.
const maxEnds = 4096

// roomForEnds returns maxEnds, or less if there are few descriptors.
func roomForEnds() int { return min(maxEnds, descriptors()/16) }

// exits waits for the ends of processes, each in a goroutine that the runtime's poller wakes.
type exits struct {
	group sync.WaitGroup

	mu    sync.Mutex
	files map[uint64]*os.File // by number of the question
}

// follow calls ended when a process has ended, unless the question was forgotten before.
func (w *exits) follow(ctx context.Context, f *os.File, number uint64, ended func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		w.files = map[uint64]*os.File{}
	}
	w.files[number] = f
	w.group.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = f.Close() })
		defer stop()
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Read(func(fd uintptr) bool { return pidfd.Ended(int(fd), 0) })
		}
		if w.forget(number) {
			ended()
		}
	})
}

// forget forgets a question. It reports whether the question was still open.
func (w *exits) forget(number uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.files[number]
	if ok {
		delete(w.files, number)
		_ = f.Close() // ends the wait of its goroutine
	}
	return ok
}

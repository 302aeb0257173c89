package slave

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// warden keeps the space within its numbers, and its records within their ring. The kernel's
// notices to it cannot wait, so it has a thread of its own, which runs before the processes of the
// node's users and takes no lock that is held for long.
type warden struct {
	log     *slog.Logger
	source  noticed
	numbers *numbers
	hold    *hold
	kill    func(pid wire.PID) error

	filling atomic.Bool   // the space is held until the records have been taken in
	full    chan struct{} // wakes empty
}

// noticed is what a warden needs of a procevents.Source.
type noticed interface {
	Attend(ctx context.Context, f func(procevents.Record)) error
	Last() wire.PID
	Emptied()
}

// run attends to the kernel's notices until the context ends.
func (w *warden) run(ctx context.Context) error {
	runtime.LockOSThread() // and never unlocked: the thread ends with its priority
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), wardenPriority); err != nil {
		w.log.Warn("the allocation cursor is watched without priority", "err", err)
	}
	err := w.source.Attend(ctx, w.notice)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (w *warden) notice(r procevents.Record) {
	switch r.Kind {
	case procevents.CursorLow:
		w.low(r.PID)
	case procevents.Stray:
		w.stray(r.PID, r.Parent)
	case procevents.Filling:
		w.filled()
	case procevents.Forked, procevents.Execed, procevents.Exited, procevents.Stopped, procevents.Continued: // the recorder's
	}
}

// low moves the cursor on. When little is left of the block, it holds the processes meanwhile.
func (w *warden) low(pid wire.PID) {
	if !w.numbers.late(w.source.Last()) {
		w.numbers.passed(pid)
		return
	}
	w.log.Debug("the allocation cursor is late; processes are held", "pid", pid)
	w.take()
	w.numbers.passed(pid)
	w.release()
}

// stray handles a number that the kernel should not have given, or that a process has chosen. If
// the cursor has just been moved, or init has moved it to another block because this daemon was
// late, the processes need not be held: the next move has its effect at once.
func (w *warden) stray(pid, process wire.PID) {
	if w.source.Last() == 0 {
		w.numbers.strayed()
	} else {
		w.take()
		w.numbers.strayed()
		w.release()
	}
	if w.numbers.owned(pid) {
		return
	}
	w.log.Error("a task got a number that is not this node's; its process is killed", "pid", process, "task", pid)
	if err := w.kill(process); err != nil && !errors.Is(err, unix.ESRCH) {
		w.log.Error("a process could not be killed", "pid", process, "err", err)
	}
}

// filled holds the space until the recorder has taken in the records: lost records cannot be made
// up for in full.
func (w *warden) filled() {
	w.take()
	if w.filling.Swap(true) {
		w.release() // held already
	}
	select {
	case w.full <- struct{}{}:
	default:
	}
}

// empty calls drain when the records fill their ring. Held processes make no more records, so
// nothing else would wake the recorder.
func (w *warden) empty(ctx context.Context, drain func()) error {
	for {
		select {
		case <-w.full:
			drain()
		case <-ctx.Done():
			return nil
		}
	}
}

// emptied lets the processes go on when the records have been taken in.
func (w *warden) emptied() {
	if !w.filling.Load() || !w.filling.Swap(false) {
		return
	}
	w.source.Emptied()
	w.release()
}

func (w *warden) take() {
	if err := w.hold.take(); err != nil {
		w.log.Error("processes could not be held", "err", err)
	}
}

func (w *warden) release() {
	if err := w.hold.release(); err != nil {
		w.log.Error("processes could not be let go on", "err", err)
	}
}

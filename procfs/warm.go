package procfs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bproc/wire"
)

// warmer makes the kernel know processes before readers ask for them. A program that lists /proc
// then reads some files of each process, and each process that the kernel does not know costs the
// reader several requests. The scout lists these directories ahead of the reader: one listing makes
// all files of a process known (processDir.brief), and the warmer stores the contents in the kernel's
// cache (FUSE_NOTIFY_STORE).
//
//	reader                             warmer
//	lists /proc  --- many unknown -->  has the scout list /proc, then each of those, and
//	             <-- most are known -- stores the contents of their files
//	reads, without requests to the server
//
// A reader that went ahead meanwhile would make the same requests, and catch up: it takes less time
// for a known process than the warmer for an unknown one. So it waits, until it cannot catch up any
// more. Meanwhile its listing has /proc locked for changes, and the scout has to read it, so the
// kernel must not be notified of changes there (news.hold).
//
// The warmer works when a program has listed /proc, and only on processes that the kernel does not
// know. The kernel knows the processes that were prepared (prepare.go).
type warmer struct {
	view   *View
	wanted chan chan<- struct{} // closed when the reader need not wait any longer
	warned atomic.Bool

	// turn is held while processes are read. No handler of requests takes it.
	turn sync.Mutex
}

// Bounds of the warmer. A few processes are read as fast as they are made known.
const (
	worthWarming = 32               // processes
	ahead        = 3 * time.Second  // longest wait of a reader
	warmTime     = 30 * time.Second // for all processes

	// A reader needs about as much time for a known process as the warmer for a quarter of an
	// unknown one. So it cannot catch up when all but a fifth are known.
	lead = 5
)

// want has processes made known, unless the warmer is at work. If the reader may wait, it waits until it
// cannot catch up; but not if the context has ended: then it has waited for the nodes.
func (w *warmer) want(ctx context.Context, wait bool) {
	known := make(chan struct{})
	select {
	case w.wanted <- known:
	default:
		return
	}
	if !wait || ctx.Err() != nil {
		return
	}
	select {
	case <-known:
	case <-time.After(ahead):
	}
}

// run makes processes known on demand, until the context ends.
func (w *warmer) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case known := <-w.wanted:
			begin := time.Now()
			count, err := w.warm(ctx, known)
			w.view.log.Debug("processes are known to the kernel", "count", count, "time", time.Since(begin), "err", err)
			w.failed(ctx, err)
		}
	}
}

// failed logs that the scout has failed, once, unless the view ends.
func (w *warmer) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !w.warned.Swap(true) {
		w.view.log.Warn("first looks at many processes take longer from now on", "err", err)
	}
}

// warm lists /proc, and reads the processes that the kernel does not know. It returns how many it has read.
func (w *warmer) warm(ctx context.Context, known chan<- struct{}) (count int, err error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	pids := slices.DeleteFunc(w.view.all(), func(pid wire.PID) bool { return !w.view.cold(pid) })
	slices.Sort(pids) // as readers read them
	release := sync.OnceFunc(func() { close(known) })
	defer release()
	rest, enough := len(pids), len(pids)/lead
	less := func() {
		if rest--; rest <= enough {
			release()
		}
	}
	next := func() (wire.PID, bool) {
		for len(pids) > 0 && ctx.Err() == nil {
			pid := pids[0]
			pids = pids[1:]
			if w.view.cold(pid) {
				return pid, true
			}
			less() // the reader was faster
		}
		return 0, false
	}
	err = w.apart(func() error {
		if err := w.view.scout.List(); err != nil {
			return err
		}
		return w.view.scout.Look(next, func(pid wire.PID) {
			w.store(pid)
			count++
			less()
		})
	})
	return count, err
}

// apart runs f on a thread that may wait for the view, and returns its error.
func (w *warmer) apart(f func() error) (failed error) {
	err := w.view.device.apart(func() error {
		failed = f()
		return nil
	})
	if err != nil {
		w.view.log.Warn(withoutGuard, "err", err)
	}
	return failed
}

// store gives the kernel the contents of the files that programs read of all processes, if it knows them.
func (w *warmer) store(pid wire.PID) {
	self := w.view.table.known(place{rootID, pid.String()})
	for _, name := range readOfAll {
		if n := w.view.table.placedAt(place{self, name}); n != nil {
			if t, ok := n.file.(*text); ok && len(t.content) > 0 {
				w.view.kernel.InodeNotifyStoreCache(n.id, 0, t.content)
			}
		}
	}
}

// cold reports whether the kernel needs a request before the files of a remote process can be read.
func (v *View) cold(pid wire.PID) bool {
	if v.process(pid) == nil {
		return false
	}
	self := v.table.known(place{rootID, pid.String()})
	return self == 0 || v.table.known(place{self, readOfAll[0]}) == 0
}

// manyCold reports whether many processes of a listing are cold.
func (v *View) manyCold(entries []entry) bool {
	cold := 0
	for _, e := range entries {
		if pid := number(e.name); pid != 0 && v.cold(pid) {
			cold++
		}
		if cold == worthWarming {
			return true
		}
	}
	return false
}

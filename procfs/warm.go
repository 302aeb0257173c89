package procfs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// warmer makes the kernel know processes before readers ask for them. A program that lists /proc
// then reads some files of each process, and each process that the kernel does not know costs the
// reader two requests. The warmer lists these directories ahead of the reader: one listing makes
// all files of a process known (processDir.brief), and it stores the contents in the kernel's cache
// (FUSE_NOTIFY_STORE).
//
//	reader                             warmer
//	lists /proc  --- many unknown -->  lists /proc, then each of those, and
//	             <-- all ------------  stores the contents of their files
//	reads, without requests to the server
//
// A reader that went ahead meanwhile would make the same requests, and catch up: it takes less time
// for a known process than the warmer for an unknown one. So it waits.
//
// The warmer works when a program has listed /proc, and only on processes that the kernel does not
// know. The kernel knows the processes that were prepared (prepare.go).
type warmer struct {
	view   *View
	wanted chan *headStart // of a reader that lists unknown processes

	// turn is held while processes are read. No handler of requests takes it.
	turn sync.Mutex
}

// headStart is what a reader waits for, so as not to make the same requests.
type headStart struct {
	looks atomic.Int32  // processes read so far
	made  chan struct{} // closed when all are read
}

// Bounds of the warmer. A few processes are read as fast as they are made known.
const (
	worthWarming = 32               // processes
	ahead        = time.Second      // longest wait of a reader
	warmThreads  = 4                // threads that read processes
	warmTime     = 30 * time.Second // for all processes
)

// want has processes made known, unless the warmer is at work, and waits for it.
func (w *warmer) want(ctx context.Context) {
	start := &headStart{made: make(chan struct{})}
	select {
	case w.wanted <- start:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ahead)
	defer cancel()
	select {
	case <-start.made:
	case <-ctx.Done():
	}
}

// run makes processes known on demand, until the context ends.
func (w *warmer) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case start := <-w.wanted:
			err := w.warm(ctx, start)
			close(start.made)
			w.view.log.Debug("processes are known to the kernel", "count", start.looks.Load(), "err", err)
		}
	}
}

// warm lists /proc, and reads the processes that the kernel does not know.
func (w *warmer) warm(ctx context.Context, start *headStart) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	cold := make(chan wire.PID)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(cold)
		return w.inRoot(unix.O_RDONLY, func(root int) error { return w.list(ctx, root, cold) })
	})
	for range warmThreads {
		group.Go(func() error {
			return w.inRoot(unix.O_PATH, func(root int) error {
				buf := make([]byte, listSize)
				for pid := range cold {
					w.look(root, pid, buf)
					start.looks.Add(1)
				}
				return nil
			})
		})
	}
	return group.Wait()
}

// inRoot runs f with the root directory of the view, on a thread that may wait for the view.
func (w *warmer) inRoot(flag int, f func(root int) error) error {
	return w.view.device.apart(func() error {
		root, err := longcall.Openat(unix.AT_FDCWD, w.view.cfg.Mountpoint, flag|unix.O_DIRECTORY|unix.O_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open %s: %w", w.view.cfg.Mountpoint, err)
		}
		defer unix.Close(root)
		return f(root)
	})
}

// listSize is enough for a directory of a process; rootSize is the size of one read of /proc.
const (
	listSize = 8 << 10
	rootSize = 64 << 10
)

// list lists /proc, which makes the directories in it known, and sends the processes whose files
// are not known.
func (w *warmer) list(ctx context.Context, root int, cold chan<- wire.PID) error {
	buf := make([]byte, rootSize)
	for {
		n, err := longcall.Getdents(root, buf)
		if err != nil || n <= 0 {
			return err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			pid := number(name)
			if pid == 0 || !w.view.cold(pid) {
				continue
			}
			select {
			case cold <- pid:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// look makes the files of a process known, with their contents. Errors are ignored: the process may
// have ended.
func (w *warmer) look(root int, pid wire.PID, buf []byte) {
	if !w.view.cold(pid) {
		return // the reader was faster
	}
	dir, err := longcall.Openat(root, pid.String(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	if _, err := longcall.Getdents(dir, buf); err != nil {
		return
	}
	self := w.view.table.known(place{rootID, pid.String()})
	for _, name := range readOfAll {
		if n := w.view.table.placedAt(place{self, name}); n != nil {
			if t, ok := n.file.(*text); ok && len(t.content) > 0 {
				w.view.kernel.InodeNotifyStoreCache(n.id, 0, t.content)
			}
		}
	}
	longcall.Exists(dir, "ctty") // ps(1) looks for it in vain
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

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

// warmer has the kernel know processes before readers ask for them. Who lists /proc
// is going to read some files of each process, and each that the kernel does not know
// costs the reader two requests. The warmer lists what the reader is going to look into,
// ahead of it: one listing makes all of a process known (processDir.brief), and
// the contents are given to the kernel without being asked for (FUSE_NOTIFY_STORE).
//
//	reader                             warmer
//	lists /proc  --- many unknown -->  lists /proc, then each of those, and
//	             <-- all ------------  stores what is in their files
//	reads, and the server is not asked
//
// A reader that goes ahead meanwhile asks for the same, and catches up: it takes less time
// for a process that is known than the warmer for one that is not. So it waits.
//
// It works when somebody has listed /proc, and only on processes that the kernel does not
// know. What was prepared (prepare.go) it knows.
type warmer struct {
	view   *View
	wanted chan *headStart // of a reader who lists what is not known

	// turn is held by who looks into processes. Nobody who answers the kernel takes it.
	turn sync.Mutex
}

// headStart is what a reader waits for, so as not to ask for the same.
type headStart struct {
	looks atomic.Int32  // made so far
	made  chan struct{} // closed when no more will come
}

// Bounds on it. Few processes are read as quickly as they are made known.
const (
	worthWarming = 32               // processes
	ahead        = time.Second      // that a reader waits at most
	warmThreads  = 4                // that look into processes at the same time
	warmTime     = 30 * time.Second // for all
)

// want has processes made known, unless that is under way, and waits for it.
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

// run makes processes known when it is wanted, until the context ends.
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

// warm lists /proc, and has those processes looked into that the kernel does not know.
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

// inRoot executes f with the root directory of the view, on a thread that may wait for the
// view.
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

// listSize is enough for a directory of a process; rootSize is for how much of /proc the
// kernel is to ask at once.
const (
	listSize = 8 << 10
	rootSize = 64 << 10
)

// list lists /proc, which makes the directories in it known, and gives those of which the
// files are not.
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

// look makes the files of a process known, with what is in them. One that ends
// meanwhile is no loss.
func (w *warmer) look(root int, pid wire.PID, buf []byte) {
	if !w.view.cold(pid) {
		return // the reader was quicker
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
	longcall.Exists(dir, "ctty") // which ps(1) looks for in vain
}

// cold reports whether the kernel has to ask before anybody can read the files of a
// remote process.
func (v *View) cold(pid wire.PID) bool {
	if v.process(pid) == nil {
		return false
	}
	self := v.table.known(place{rootID, pid.String()})
	return self == 0 || v.table.known(place{self, readOfAll[0]}) == 0
}

// manyCold reports whether that is so for many processes of a listing.
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

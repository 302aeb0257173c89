package slave

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// A daemon that dies leaves with init what the next one needs to go on as if nothing had happened:
// the journal, the kernel's records of processes, and the pipes of processes. If the next daemon
// cannot go on with them, the space ends and is made anew: that tells the front end that nothing of
// it is left, neither processes nor what is known of those that ended.

// keptEvents is the name under which the kernel's records are kept.
var keptEvents = fmt.Sprintf("events %d", procevents.Layout)

// found is what a former daemon has left.
type found struct {
	kept  map[string][]*os.File
	slots []*journal.Slot
	known map[wire.PID]core.Known // processes that the front end was told of
	left  core.TakenOver
}

// errUseless is the error for a space in which a daemon cannot go on.
var errUseless = errors.New("what a former daemon has left is of no use")

// takeOver opens the journal and the kernel's records: those of a former daemon, or new ones in a
// new space.
func (n *node) takeOver() (*found, error) {
	f := &found{kept: n.space.Kept()}
	n.shadows.resume(f.kept)
	if f.kept[journal.Name] == nil && len(n.space.PIDs()) == 0 {
		return &found{}, n.beginAnew()
	}
	if err := n.goOn(f); err != nil {
		f.close()
		return nil, fmt.Errorf("%w: %w", errUseless, err)
	}
	return f, nil
}

// goOn opens what a former daemon has left.
func (n *node) goOn(f *found) (err error) {
	files := f.kept[keptEvents]
	delete(f.kept, keptEvents)
	n.stdios.Journal, f.slots, err = journal.Reopen(f.kept, &journal.Keep{Open: n.keepFDs, Close: n.dropKept})
	if err != nil {
		return errors.Join(err, closeFiles(files))
	}
	if err = n.state.begin(n.stdios.Journal.Log()); err == nil {
		n.source, err = procevents.Reopen(n.watched(), files)
	} else {
		err = errors.Join(err, closeFiles(files))
	}
	if err != nil {
		return errors.Join(err, n.stdios.Journal.Close())
	}
	f.known = n.state.known()
	return nil
}

// beginAnew makes the journal and the kernel's records, and has init keep them for the next daemon.
func (n *node) beginAnew() (err error) {
	if n.stdios.Journal, err = journal.Create(&journal.Keep{Open: n.keepFDs, Close: n.dropKept}); err != nil {
		return err
	}
	if err = n.state.begin(n.stdios.Journal.Log()); err == nil {
		n.source, err = procevents.Open(n.watched())
	}
	if err == nil {
		if err = n.space.Keep(keptEvents, n.source.Files()...); err != nil {
			err = errors.Join(err, n.source.Close())
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("process events: %w", err), n.stdios.Journal.Close())
	}
	return nil
}

func (n *node) watched() procevents.Config {
	return procevents.Config{Namespace: uint64(n.space.NSInode()), FrontEnd: pidmap.Node}
}

// keepFDs has init keep descriptors.
func (n *node) keepFDs(name string, fds ...int) (err error) {
	var files []*os.File
	for _, fd := range fds {
		own, dupErr := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if dupErr != nil {
			return errors.Join(dupErr, closeFiles(files))
		}
		files = append(files, os.NewFile(uintptr(own), name))
	}
	return errors.Join(n.space.Keep(name, files...), closeFiles(files))
}

// dropKept has init close what it keeps under a name. It fails only if the space is about to end.
func (n *node) dropKept(name string) { _ = n.space.Drop(name) }

func closeFiles(files []*os.File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func (f *found) close() {
	for _, files := range f.kept {
		_ = closeFiles(files) // nobody has used them
	}
	f.kept = nil
}

// resume goes on with the processes of a former daemon.
func (n *node) resume(f *found) error {
	defer f.close()
	if f.known == nil {
		return nil
	}
	f.left = n.state.takeOver(core.Found{PIDs: n.space.PIDs(), Starting: n.space.Starting()})
	launched := 0
	for _, k := range f.known {
		if k.Launched {
			launched++
		}
	}
	var blocks []wire.Block
	var position uint64
	n.state.look(func(c *core.Core) { blocks, position = c.Blocks(), c.Position() })
	n.recorder.resume(slices.Collect(maps.Values(f.known)), position)
	n.tasks.have(count(blocks))
	n.tasks.resume(launched)
	if err := n.numbers.resume(blocks, slices.Collect(maps.Keys(f.known)), n.source.Last()); err != nil {
		return fmt.Errorf("numbers of a former daemon: %w", err)
	}
	for _, slot := range f.slots {
		k, lives := f.known[slot.Facts().PID]
		if err := n.stdios.Resume(slot, f.kept, lives && k.Launched, k.Starting); err != nil {
			return err
		}
	}
	for name := range f.kept {
		n.dropKept(name)
	}
	for _, pid := range f.left.Running {
		n.launched(pid, 0, 0)
	}
	n.recorder.lookAtAll()
	return nil
}

// settle handles launches of a former daemon that have not reached init. When init has answered, it
// has reported everything about all other launches. Sessions wait for that: the front end asks
// again for what the inventory lacks, and a report of init does not say which of two processes with
// the same number it means.
func (n *node) settle(ctx context.Context, f *found) error {
	if f.known != nil {
		if err := n.space.Sync(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	for _, pid := range f.left.Unsure {
		if n.recorder.unasked(pid) {
			n.fails(pid)
		} else {
			n.launched(pid, wire.StageSpawn, unix.ECONNRESET)
		}
	}
	close(n.settled)
	return nil
}

// launched takes in the result of a launch that a former daemon began.
func (n *node) launched(pid wire.PID, stage wire.Stage, errno unix.Errno) {
	if !n.recorder.starting(pid) { // the result is known already
		if errno != 0 {
			n.state.step(core.Reaped{PID: pid})
		}
		return
	}
	if errno != 0 {
		n.recorder.notSpawned(pid, 0, stage, errno)
		n.fails(pid)
		return
	}
	n.recorder.spawned(pid)
	if d := n.stdios.Find(pid); d != nil {
		n.stdios.Go(d.Run)
	}
}

// fails gives up what was made for a process that a former daemon should have started.
func (n *node) fails(pid wire.PID) {
	n.tasks.ended()
	if d := n.stdios.Find(pid); d != nil {
		n.stdios.Go(d.Fail)
	}
}

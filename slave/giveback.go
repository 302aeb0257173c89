package slave

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

// A block that was spare for restTime is given back; giveBack looks for such blocks every restLook.
const (
	restTime = time.Minute
	restLook = 10 * time.Second
)

// giveBack gives back blocks that are no longer needed, until the context ends.
func (n *node) giveBack(ctx context.Context) error {
	tick := time.NewTicker(restLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		n.numbers.askForMore() // nothing else asks where no process can fork
		blocks := n.numbers.rested(time.Now())
		if len(blocks) == 0 {
			continue
		}
		used, err := inUse(n.recorder.proc)
		if err != nil {
			n.log.Error("blocks of process numbers are kept", "err", err)
		}
		n.recorder.stamp() // report the ends of all processes that had numbers of theirs
		n.release(func(b wire.Block) bool { return err == nil && !slices.ContainsFunc(used, b.Contains) })
	}
}

// release gives back the free ones of the blocks that are out of use.
func (n *node) release(free func(wire.Block) bool) {
	n.granting.Lock()
	defer n.granting.Unlock()
	back := n.numbers.release(free)
	n.tasks.have(count(n.numbers.blocks()))
	if len(back) == 0 {
		return
	}
	n.state.step(core.Blocks{Blocks: n.numbers.blocks()})
	if err := n.out.put(&wire.BlocksReturned{Blocks: back}); err != nil {
		n.log.Error("blocks of process numbers could not be given back", "err", err)
	}
}

// rested takes the blocks that were spare for restTime out of use. Threads, sessions and groups may
// still use numbers of theirs.
func (n *numbers) rested(now time.Time) []wire.Block {
	tasks := n.tasks()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cursor.Tasks(tasks)
	idle := make(map[wire.Block]time.Time)
	for _, b := range n.cursor.Spare() {
		since, ok := n.idle[b]
		switch {
		case !ok:
			idle[b] = now
		case now.Sub(since) < restTime:
			idle[b] = since
		default:
			n.cursor.Drop(b)
			n.going = append(n.going, b)
		}
	}
	if len(n.going) > 0 {
		n.fenceLocked() // from now on nobody moves the cursor there
	}
	n.idle = idle
	return slices.Clone(n.going)
}

// release gives up the free ones of the blocks that rested has returned, and takes the others back
// into use.
func (n *numbers) release(free func(wire.Block) bool) (back []wire.Block) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.going {
		if free(b) {
			back = append(back, b)
			continue
		}
		if err := n.cursor.Add([]wire.Block{b}); err != nil {
			n.log.Error("a block of process numbers is lost", "err", err)
		}
	}
	n.going = nil
	return back
}

// inUse returns all numbers in use in the space: those of processes, threads, groups and sessions.
// The leaders of groups and sessions may have ended.
func inUse(proc procevents.Proc) ([]wire.PID, error) {
	all, err := os.ReadDir(string(proc))
	if err != nil {
		return nil, fmt.Errorf("look for numbers in use: %w", err)
	}
	var used []wire.PID
	for _, e := range all {
		pid, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil {
			continue
		}
		both, err := groupAndSession(filepath.Join(string(proc), e.Name(), "stat"))
		if err != nil {
			return nil, fmt.Errorf("look for numbers in use: %w", err)
		}
		used = append(append(used, wire.PID(pid)), both...)
		threads, err := os.ReadDir(filepath.Join(string(proc), e.Name(), "task"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("look for numbers in use: %w", err)
		}
		for _, thread := range threads {
			if tid, err := strconv.ParseInt(thread.Name(), 10, 32); err == nil {
				used = append(used, wire.PID(tid))
			}
		}
	}
	return used, nil
}

// groupAndSession reads the group and session of a process from its stat file. A zombie has both,
// too. The result is empty if the process has ended.
func groupAndSession(path string) (both []wire.PID, err error) {
	stat, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			err = nil
		}
		return nil, err
	}
	for _, field := range []procstat.Field{procstat.Group, procstat.Session} {
		if n, ok := procstat.Stat(stat).Int(field); ok {
			both = append(both, wire.PID(n))
		}
	}
	return both, nil
}

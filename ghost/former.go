package ghost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/ghost/mark"
	"bproc/wire"
)

// markHeld marks a ghost. The next keeper recognizes it by the mark.
func markHeld(pid wire.PID, hangUp bool) error {
	filter := mark.Held
	if hangUp {
		filter = mark.HangUp
	}
	return writeProc(pid, mark.File, fmt.Sprintf("%#x", filter))
}

func wasMarked(pid wire.PID) bool {
	held, _ := wasHeld(pid)
	return held
}

func wasHeld(pid wire.PID) (held, hangUp bool) {
	text, err := readProc(pid, mark.File)
	if err != nil {
		return false, false
	}
	return mark.Parse(text)
}

// disown cancels what a former keeper was having the ghost do when it died: the ghost goes back to
// its loop, and its signal that it is done is dropped. The master repeats all requests that were
// not answered.
func (d *driven) disown() {
	for place := range uint64(maxHeard) {
		info := peek(d.g.pid, ofProcess, place)
		if info == nil {
			break
		}
		if said(info, d.g.pid) {
			d.g.owed++
		}
	}
	if d.saved.pc() >= textAddr(here.list) && d.saved.pc() != textAddr(here.said) {
		d.saved.begin(here.said, d.g.pid)
		_ = d.saved.set(d.g.pid) // or SIGKILL has taken it from its stop
	}
}

// Times for a former keeper that is still exiting: its threads let go of their ghosts one after the
// other, and after its sockets are closed. It may take long over many ghosts, but not over each
// one.
const (
	formerTime  = 5 * time.Second
	formerPause = 2 * time.Millisecond
)

var errFormer = errors.New("the former keeper ends and does not let go of them")

// seizeFormer makes the shards seize the ghosts that a former keeper held. It waits for a keeper
// that has not yet let go of them.
func (k *Keeper) seizeFormer(ctx context.Context) error {
	var all seizing
	for since := time.Now(); ; {
		parents, more, err := k.former()
		if err != nil {
			return err
		}
		maps.DeleteFunc(parents, func(pid, _ wire.PID) bool { return all.isRefused(pid) })
		before := all.count()
		k.seize(parents, &all)
		if err := k.settle(ctx); err != nil {
			return err
		}
		switch {
		case !more:
			return nil
		case all.count() > before:
			since = time.Now()
		case time.Since(since) > formerTime:
			return errFormer
		}
		select {
		case <-time.After(formerPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// seizing is what has become of the ghosts of a former keeper. Any user can make processes that look like one and are
// refused, so these are asked for only once.
type seizing struct {
	mu      sync.Mutex
	held    int
	refused map[wire.PID]bool
}

func (a *seizing) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

func (a *seizing) isRefused(pid wire.PID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused[pid]
}

func (a *seizing) note(pid wire.PID, held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case held:
		a.held++
	case a.refused == nil:
		a.refused = map[wire.PID]bool{pid: true}
	default:
		a.refused[pid] = true
	}
}

// seize makes the shards seize ghosts, given with their parents. The ghosts of a tree go to the same shard, so that
// requests about them are carried out in order.
func (k *Keeper) seize(parents map[wire.PID]wire.PID, all *seizing) {
	shards := map[wire.PID]*shard{} // by the root of a tree
	for pid := range parents {
		root := pid
		for parents[parents[root]] != 0 {
			root = parents[root]
		}
		s := shards[root]
		if s == nil {
			if s = k.owners.shardOf(root); s == nil {
				s = k.least()
			}
			shards[root] = s
		}
		k.owners.set(pid, s)
		s.count.Add(1) // so that the next tree goes to another shard
		seized := func(err error) {
			s.count.Add(-1) // adopt counts it if it is held
			all.note(pid, err == nil)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				k.log.Warn("a ghost of a former keeper is not seized", "pid", pid, "err", err)
			}
		}
		if err := s.put(request{msg: &wire.GhostAdopt{PID: pid, UID: AnyUser}, done: seized}); err != nil {
			k.owners.drop(pid, s)
			seized(err)
		}
	}
}

// former returns the marked ghosts that no shard holds, with their parents, and whether others have
// a tracer that is exiting: one without memory.
func (k *Keeper) former() (parents map[wire.PID]wire.PID, more bool, err error) {
	parents = map[wire.PID]wire.PID{}
	err = k.eachMarked(func(pid wire.PID, st processStatus) {
		switch {
		case k.owners.shardOf(pid) != nil:
		case st.tracer == 0:
			parents[pid] = st.parent
		default:
			_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", st.tracer))
			more = more || err != nil // it has no memory, or has ended since
		}
	})
	return parents, more, err
}

// eachMarked calls do for each process of this PID namespace that runs the image and is marked.
func (k *Keeper) eachMarked(do func(wire.PID, processStatus)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("processes: %w", err)
	}
	var ours unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ours); err != nil {
		return fmt.Errorf("PID namespace: %w", err)
	}
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		pid := wire.PID(n)
		var namespace unix.Stat_t
		if exe, err := inodeOf(unix.AT_FDCWD, "/proc/"+name+"/exe"); err != nil || exe != k.rules.image {
			continue
		}
		if !wasMarked(pid) {
			continue
		}
		if unix.Stat("/proc/"+name+"/ns/pid", &namespace) != nil || namespace.Ino != ours.Ino {
			continue // a front end within this one
		}
		if st, err := readStatus(pid); err == nil {
			do(pid, st)
		}
	}
	return nil
}

package procfs

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"bproc/wire"
)

var errOtherNode = errors.New("it is on another node")

// process returns a remote process; nil if there is none with that number.
func (v *View) process(pid wire.PID) *process {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.processes[pid]
}

// remote returns the processes that the source knows, except those with Here set.
func (v *View) remote() []wire.PID {
	v.mu.RLock()
	defer v.mu.RUnlock()
	pids := make([]wire.PID, 0, len(v.processes))
	for pid, p := range v.processes {
		if !p.Here {
			pids = append(pids, pid)
		}
	}
	return pids
}

// all returns the processes that the source knows.
func (v *View) all() []wire.PID {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.Collect(maps.Keys(v.processes))
}

// present reports whether a process of the real procfs is the cluster's process with its number.
func (v *View) present(pid wire.PID) bool {
	if v.cfg.Local == nil {
		return true
	}
	if p := v.process(pid); p != nil {
		return p.Here
	}
	return v.cfg.Local(pid)
}

// apply applies changes to the tables. Only the refresher calls it.
func (v *View) apply(c Changes) {
	var vacated []place
	for _, pid := range c.Ended {
		v.end(pid)
	}
	now := time.Now().Unix()
	for _, told := range c.Changed {
		before := v.process(told.PID)
		if before != nil && before.Node != told.Node {
			v.warn(told, errOtherNode)
			continue
		}
		p, err := newProcess(told)
		if err != nil {
			// A process that cannot be shown as its node reports it is shown as its ghost.
			v.warn(told, err)
			v.end(told.PID)
			continue
		}
		p.since = now
		vacated = append(vacated, v.put(before, p)...)
	}
	v.news.now(vacated)
}

// put shows a new version of a process, or a new process. It returns the names that the kernel must
// be told of at once.
func (v *View) put(before, p *process) (vacated []place) {
	if before != nil && before.same(p) {
		p.born, p.since = before.born, before.since
	} else {
		v.lastBorn++
		p.born = v.lastBorn
	}
	v.mu.Lock()
	v.processes[p.PID] = p
	v.mu.Unlock()

	at := place{fuse.FUSE_ROOT_ID, p.PID.String()}
	if before == nil || p.born != before.born || p.UID != before.UID || p.GID != before.GID {
		v.leave(at)
		return nil
	}
	dir := v.table.known(at)
	if dir == 0 {
		return nil
	}
	for _, name := range before.differing(p) {
		file := place{dir, name}
		if v.table.vacate(file) {
			vacated = append(vacated, file)
		}
		if name == "environ" { // which may have been fetched for those who may read it
			v.table.vacate(file.forUser(0))
			v.table.vacate(file.forUser(p.UID))
		}
	}
	return vacated
}

// end stops showing a process.
func (v *View) end(pid wire.PID) {
	v.mu.Lock()
	p := v.processes[pid]
	delete(v.processes, pid)
	v.mu.Unlock()
	if p == nil {
		return
	}
	v.leave(place{fuse.FUSE_ROOT_ID, pid.String()})
}

// leave makes the kernel forget the directory of a process. The kernel then forgets the files in
// it, too, except one that is being looked up in the open directory at that moment (d_invalidate of
// fs/dcache.c). So the kernel is told of the files as well.
func (v *View) leave(at place) {
	dir := v.table.known(at)
	v.used(at)
	if dir == 0 {
		return
	}
	for _, e := range processNames {
		v.used(place{dir, e.name})
	}
}

// warn logs an invalid report of a node.
func (v *View) warn(p Process, err error) {
	v.log.Warn("what a node says of a process makes no sense; its ghost is shown", "node", int(p.Node), "pid", int(p.PID), "err", err)
}

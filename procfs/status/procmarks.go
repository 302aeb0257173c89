package status

import (
	"hash/maphash"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// procMarks makes marks from the texts of procfs. It takes as long as ps(1).
type procMarks struct {
	proc   int
	hidden func() func(wire.PID) bool
}

// seed is the seed of all hashes of this program.
var seed = maphash.MakeSeed()

// Close implements io.Closer.
func (procMarks) Close() error { return nil }

// Marks implements [Marker].
func (p procMarks) Marks(yield func(Mark)) error {
	pids, err := numbers(p.proc, ".")
	if err != nil {
		return err
	}
	r := newReader(p.proc)
	hidden := p.hidden()
	for _, pid := range pids {
		if hidden(pid) {
			continue
		}
		tids, err := numbers(p.proc, pid.String()+"/task")
		if err != nil {
			continue // it has ended
		}
		for _, tid := range tids {
			if m, ok := markOf(r, pid, tid); ok {
				yield(m)
			}
		}
	}
	return nil
}

// markOf hashes the texts of a thread.
func markOf(r *reader, pid, tid wire.PID) (Mark, bool) {
	texts := wire.ThreadTexts{TID: tid}
	if r.thread(pid.String()+"/task", &texts) != nil {
		return Mark{}, false // it has ended
	}
	start, ok := procstat.Stat(texts.Stat).Uint(procstat.Start)
	return Mark{PID: pid, TID: tid, Start: start, Value: maphash.Bytes(seed, append(texts.Stat, texts.Status...))}, ok
}

// numbers returns the names in a directory that are numbers.
func numbers(proc int, path string) ([]wire.PID, error) {
	fd, err := unix.Openat(proc, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []wire.PID
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 32); err == nil {
			all = append(all, wire.PID(n))
		}
	}
	return all, nil
}

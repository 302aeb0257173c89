package status

import (
	"hash/maphash"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
	"bproc/wire"
)

// procMarks makes marks of what procfs shows, for kernels that do not take the BPF
// program. It takes as long as a listing by ps(1).
type procMarks struct{ proc int }

// seed is of all marks that this program makes.
var seed = maphash.MakeSeed()

// Close implements io.Closer.
func (procMarks) Close() error { return nil }

func (p procMarks) marks(yield func(mark)) error {
	pids, err := numbers(p.proc, ".")
	if err != nil {
		return err
	}
	r := newReader(p.proc)
	for _, pid := range pids {
		if standin.Is("/proc/self/fd/"+strconv.Itoa(p.proc), pid) {
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

// markOf hashes what is told of a thread.
func markOf(r *reader, pid, tid wire.PID) (mark, bool) {
	texts := wire.ThreadTexts{TID: tid}
	if r.thread(pid, &texts) != nil {
		return mark{}, false // it has ended
	}
	start, ok := startOf(texts.Stat)
	return mark{pid: pid, tid: tid, start: start, value: maphash.Bytes(seed, append(texts.Stat, texts.Status...))}, ok
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

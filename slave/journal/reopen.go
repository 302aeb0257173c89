package journal

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Reopen goes on with the journal of a daemon that is gone. kept are the files that were
// kept, by name; it takes those that are its own out, with an error too. The slots of
// processes come with what the daemon has left in them.
func Reopen(kept map[string][]*os.File, keep *Keep) (*Journal, []*Slot, error) {
	files := kept[Name]
	delete(kept, Name)
	movers := takeMovers(kept)
	defer func() {
		for _, files := range movers {
			closeAll(files)
		}
	}()
	if len(files) != 1 {
		closeAll(files)
		return nil, nil, fmt.Errorf("%w: %d files", ErrCorrupt, len(files))
	}
	j := &Journal{file: files[0], keep: none}
	if keep != nil {
		j.keep = *keep
	}
	used, err := j.resume(movers)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, used, nil
}

// takeMovers takes the movers out of what was kept, by the number of their slot.
func takeMovers(kept map[string][]*os.File) map[int][]*os.File {
	movers := make(map[int][]*os.File)
	for name, files := range kept {
		number, found := strings.CutPrefix(name, movesPrefix)
		if n, err := strconv.Atoi(number); found && err == nil && n >= 0 {
			movers[n] = files
			delete(kept, name)
		}
	}
	return movers
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nobody has used it
	}
}

func (j *Journal) resume(movers map[int][]*os.File) (used []*Slot, err error) {
	st, err := j.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("size of the journal: %w", err)
	}
	if st.Size() < slotsAt || st.Size() > slotsAt+maxChunks*chunkSlots*slotSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, st.Size())
	}
	if err := j.mapFixed(); err != nil {
		return nil, err
	}
	if got := j.header().magic; got != magic {
		return nil, fmt.Errorf("%w: it begins with %#x", ErrCorrupt, got)
	}
	slots := int((st.Size() - slotsAt) / (chunkSlots * slotSize) * chunkSlots)
	for n := range slots {
		s, err := j.addLocked(n)
		if err != nil {
			return nil, err
		}
		is, err := s.resume(movers[n])
		switch {
		case err != nil:
			return nil, fmt.Errorf("slot %d: %w", n, err)
		case s.Input.mover == noMover:
			// If it is used, the daemon died before the process was asked for.
			if movers[n] != nil {
				return nil, fmt.Errorf("%w: slot %d has %d movers", ErrCorrupt, n, len(movers[n]))
			}
			j.bare = append(j.bare, s)
		case is:
			used = append(used, s)
		default:
			j.free = append(j.free, s)
		}
		j.slots = append(j.slots, s)
	}
	return used, nil
}

// resume gives a slot its movers, and finds out where the bytes in them belong.
func (s *Slot) resume(files []*os.File) (used bool, err error) {
	used = atomic.LoadUint64(&s.facts.used) != 0
	if len(files) != 2*len(s.movers()) {
		return used, nil
	}
	for i, m := range s.movers() {
		if m.read, err = own(files[2*i]); err == nil {
			m.write, err = own(files[2*i+1])
		}
		if err != nil {
			return false, errors.Join(err, s.closeMovers())
		}
	}
	if !used {
		for _, m := range s.movers() {
			m.drain()
		}
		return false, nil
	}
	err = s.Input.resume()
	for _, o := range s.Outputs {
		err = errors.Join(err, o.resume())
	}
	if err != nil {
		err = errors.Join(err, s.closeMovers())
	}
	return true, err
}

// own returns a descriptor of a file that the runtime does not know of.
func own(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(its uintptr) { fd, dupErr = unix.FcntlInt(its, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, dupErr)
}

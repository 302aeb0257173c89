package pid1

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// Bounds on what is kept for later daemons.
const (
	maxStored     = 256 << 10 // descriptors; fewer where fs.nr_open is lower
	maxStoredName = 128       // bytes of a name
)

// storedFrom is the lowest number of a stored descriptor. The descriptors that init uses are below:
// maxLaunches at once, with four each. A new process has copies of these only (plan.unshare),
// however many are stored.
const storedFrom = 8 << 10

// stored are the descriptors that are kept under names for the next daemon.
type stored struct {
	log *slog.Logger

	mu    sync.Mutex
	table map[string][]int
	count int // of descriptors
}

func (s *stored) init(log *slog.Logger) { s.log, s.table = log, make(map[string][]int) }

// put keeps descriptors under a name, in place of those that are there. The table owns them from
// then on, or they are closed.
func (s *stored) put(name string, fds []int) {
	defer rights.Close(fds)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(name)
	if len(fds) == 0 || name == "" || len(name) > maxStoredName || s.count+len(fds) > maxStored {
		s.log.Warn("descriptors are not kept", "name", name, "count", len(fds), "kept", s.count)
		return
	}
	moved := make([]int, 0, len(fds))
	for _, fd := range fds {
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, storedFrom)
		if err != nil {
			s.log.Warn("descriptors are not kept", "name", name, "count", len(fds), "kept", s.count, "err", err)
			rights.Close(moved)
			return
		}
		moved = append(moved, high)
	}
	s.table[name] = moved
	s.count += len(moved)
}

// drop closes the descriptors of a name.
func (s *stored) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(name)
}

func (s *stored) dropLocked(name string) {
	rights.Close(s.table[name])
	s.count -= len(s.table[name])
	delete(s.table, name)
}

// names returns how many names there are.
func (s *stored) names() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.table)
}

// tell sends all descriptors to a daemon.
func (s *stored) tell(c *rights.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.table)) {
		if err := c.Write(0, &wire.InitStored{Name: name}, s.table[name]...); err != nil {
			return fmt.Errorf("stored descriptors: %w", err)
		}
	}
	return nil
}

// close closes all descriptors.
func (s *stored) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.table {
		s.dropLocked(name)
	}
}

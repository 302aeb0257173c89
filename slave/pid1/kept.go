package pid1

import (
	"maps"
	"slices"
	"sync"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// kept are the ends of launched processes, and the launches that failed. A daemon can die before it
// has passed them on, so each new daemon is told again, until one has them forgotten. There are no
// more of them than launched processes.
type kept struct {
	mu    sync.Mutex
	table map[wire.PID]wire.Message // InitStatus or InitLaunched
}

func (k *kept) init() { k.table = make(map[wire.PID]wire.Message) }

func (k *kept) keep(pid wire.PID, m wire.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.table[pid] = m
}

func (k *kept) forget(pids ...wire.PID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pid := range pids {
		delete(k.table, pid)
	}
}

// ended returns the processes whose ends are kept.
func (k *kept) ended() []wire.PID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var pids []wire.PID
	for pid, m := range k.table {
		if m.Type() == wire.TypeInitStatus {
			pids = append(pids, pid)
		}
	}
	return pids
}

// tell sends everything to a daemon.
func (k *kept) tell(c *rights.Conn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pid := range slices.Sorted(maps.Keys(k.table)) {
		if err := c.Write(0, k.table[pid]); err != nil {
			return err
		}
	}
	return nil
}

package ghost

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// bellTime is when a bell rings again. From then on it does so at intervals of bellPause, until it is
// silenced: on a machine that needs half of bellTime for a signal, the thread could do nothing else.
const (
	bellTime  = 200 * time.Microsecond
	bellPause = 5 * time.Millisecond
)

// bell makes a shard look into its queue. A signal interrupts the thread's wait for ghosts. A
// signal just before the wait begins has no effect; then the alarm rings again.
type bell struct {
	alarm
	rung atomic.Bool // set after the alarm
}

// ring may be called on any thread; silence only on the shard's, before it looks into the queue.
func (b *bell) ring() {
	b.set(bellTime, bellPause)
	b.rung.Store(true)
	_ = unix.Tgkill(os.Getpid(), b.thread, alarmSignal) // the thread exists as long as its shard
}

// silence ends the ringing. After a ring that comes at the same time, the signal of that is still to
// come, and with it the next silence.
func (b *bell) silence() {
	if b.rung.Swap(false) {
		b.set(0, 0)
	}
}

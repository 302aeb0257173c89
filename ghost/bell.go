package ghost

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bellTime is the interval at which a bell rings again until it is silenced.
const bellTime = 200 * time.Microsecond

// bell makes a shard look into its queue. A signal interrupts the thread's wait for ghosts. A
// signal just before the wait begins has no effect; then the alarm rings again.
type bell struct{ alarm }

// ring may be called on any thread; silence only on the shard's, before it looks into the queue.
func (b *bell) ring() {
	b.set(bellTime)
	_ = unix.Tgkill(os.Getpid(), b.thread, alarmSignal) // the thread exists as long as its shard
}

func (b *bell) silence() { b.set(0) }

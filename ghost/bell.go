package ghost

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bellTime is after how long a bell rings once more, if that is needed.
const bellTime = 200 * time.Microsecond

// bell has a shard look into its queue. A signal interrupts the thread's wait for ghosts; where
// it comes in the moment before that begins, it has no effect, and the alarm rings again.
type bell struct{ alarm }

// ring is for any thread; silence for that of the shard, before it looks into the queue.
func (b *bell) ring() {
	b.set(bellTime)
	_ = unix.Tgkill(os.Getpid(), b.thread, alarmSignal) // the thread is there as long as its shard
}

func (b *bell) silence() { b.set(0) }

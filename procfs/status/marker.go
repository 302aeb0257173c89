package status

import (
	"io"

	"bproc/wire"
)

// Mark stands for all that /proc shows of a thread: when that changes, Value does.
type Mark struct {
	PID   wire.PID // of the process
	TID   wire.PID
	Start uint64 // that of another thread with the same number is another one
	Value uint64

	// Groups stands for its control groups, the text of which takes the kernel a lock of
	// the whole machine; 0: not known.
	Groups uint64
}

// Marker makes the marks of all threads.
type Marker interface {
	Marks(yield func(Mark)) error
	io.Closer
}

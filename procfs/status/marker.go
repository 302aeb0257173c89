package status

import (
	"io"

	"bproc/wire"
)

// Mark stands for everything that /proc shows of a thread: when that changes, Value does.
type Mark struct {
	PID   wire.PID // of the process
	TID   wire.PID
	Start uint64 // tells threads with the same number apart
	Value uint64

	// Groups stands for its control groups. Reading their text takes a lock of the whole machine in
	// the kernel. 0: not known.
	Groups uint64
}

// Marker makes the marks of all threads.
type Marker interface {
	Marks(yield func(Mark)) error
	io.Closer
}

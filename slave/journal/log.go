package journal

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The log has two halves, of which one is in use. When that has grown, what still
// matters of it is written to the other, and then one store makes that the one in use.
const (
	logHalf   = 128 << 20 // bytes; pages that nobody has touched take no memory
	logHeader = 64
	logSize   = 2 * logHalf
	logAt     = headerSize
	slotsAt   = logAt + logSize

	// recordHeader is the length of the payload and its kind.
	recordHeader = 8
	// logGrowth is how many bytes are added before the log is worth writing anew.
	logGrowth = 1 << 20
)

// logWords begin a half.
type logWords struct {
	tail      uint64 // bytes of records that hold
	confirmed uint64 // see Confirm
}

// Log is a list of records of which the next daemon gets all that were committed. It
// belongs to one goroutine at a time.
type Log struct {
	half *uint64 // in the header: counts halves that were in use; odd: the second is
	mem  []byte
	tail uint64 // of what was appended
	base uint64 // of what Rewrite has written, or was to write
}

func newLog(half *uint64, mem []byte) *Log { return &Log{half: half, mem: mem} }

func (l *Log) halfAt(count uint64) []byte {
	at := int(count%2) * logHalf
	return l.mem[at : at+logHalf : at+logHalf]
}

func (l *Log) words(half []byte) *logWords { return (*logWords)(unsafe.Pointer(&half[0])) }

func (l *Log) current() []byte { return l.halfAt(atomic.LoadUint64(l.half)) }

// Append appends a record, which holds from the next Commit on.
func (l *Log) Append(kind uint32, payload ...[]byte) error {
	return l.append(l.current()[logHeader:], kind, payload)
}

func (l *Log) append(records []byte, kind uint32, payload [][]byte) error {
	size := 0
	for _, part := range payload {
		size += len(part)
	}
	end := l.tail + uint64(recordHeader+size+7)&^7
	if end > uint64(len(records)) {
		return errFull
	}
	at := records[l.tail:end]
	binary.NativeEndian.PutUint32(at, uint32(size))
	binary.NativeEndian.PutUint32(at[4:], kind)
	at = at[recordHeader:]
	for _, part := range payload {
		at = at[copy(at, part):]
	}
	l.tail = end
	return nil
}

// Commit has all hold that was appended, at once.
func (l *Log) Commit() { atomic.StoreUint64(&l.words(l.current()).tail, l.tail) }

// Confirm sets a number that the next daemon gets with the records; Rewrite makes it 0.
func (l *Log) Confirm(n uint64) { atomic.StoreUint64(&l.words(l.current()).confirmed, n) }

// Confirmed returns what Confirm has set.
func (l *Log) Confirmed() uint64 { return atomic.LoadUint64(&l.words(l.current()).confirmed) }

// BeginRewrite reports whether the log has grown so much that the caller is to call Rewrite. If that
// fails, it is time again when the log has grown as much once more: each attempt takes long.
func (l *Log) BeginRewrite() bool {
	grown := l.tail > 2*l.base+logGrowth
	if grown {
		l.base = l.tail
	}
	return grown
}

// Rewrite puts what write appends in the place of everything there is.
func (l *Log) Rewrite(write func(add func(kind uint32, payload ...[]byte) error) error) error {
	count, tail := atomic.LoadUint64(l.half)+1, l.tail
	half := l.halfAt(count)
	l.tail = 0
	err := write(func(kind uint32, payload ...[]byte) error { return l.append(half[logHeader:], kind, payload) })
	if err != nil {
		l.tail = tail
		return fmt.Errorf("write the log anew: %w", err)
	}
	*l.words(half) = logWords{tail: l.tail}
	l.base = l.tail
	old := l.current()
	atomic.StoreUint64(l.half, count)
	if tail > 4*logGrowth {
		// Without it the memory is used again by the Rewrite after the next.
		_ = unix.Madvise(old[pageSize*16:], unix.MADV_REMOVE)
	}
	return nil
}

// Replay calls f for each record that holds.
func (l *Log) Replay(f func(kind uint32, payload []byte) error) error {
	half := l.current()
	tail, records := atomic.LoadUint64(&l.words(half).tail), half[logHeader:]
	if tail > uint64(len(records)) || tail%8 != 0 {
		return fmt.Errorf("%w: a log of %d bytes", ErrCorrupt, tail)
	}
	for rest := records[:tail]; len(rest) > 0; {
		size := uint64(binary.NativeEndian.Uint32(rest))
		end := (recordHeader + size + 7) &^ 7
		if end > uint64(len(rest)) {
			return fmt.Errorf("%w: a record of %d bytes, with %d left", ErrCorrupt, size, len(rest))
		}
		if err := f(binary.NativeEndian.Uint32(rest[4:]), rest[recordHeader:recordHeader+size]); err != nil {
			return err
		}
		rest = rest[end:]
	}
	l.tail = tail
	return nil
}

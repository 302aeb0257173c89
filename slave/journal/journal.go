package journal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The memfd is mapped in chunks. Pages that nobody has touched take no memory.
const (
	pageSize   = 4 << 10
	chunkSlots = 32
	maxChunks  = 1024
	headerSize = 64 << 10 // the largest page of any architecture
)

// magic begins the file; another layout has another one.
const magic = 0x6270_736c_6176_0002

// header is the first page.
type header struct {
	magic  uint64
	half   uint64 // of the log
	madeUp uint64 // see MakeUp
}

// ErrCorrupt is the error for memory that no daemon can have left.
var ErrCorrupt = errors.New("journal is corrupt")

// errFull is the error when there are more processes than slots: EAGAIN, as for other limits on
// processes.
var errFull = fmt.Errorf("journal is full: %w", unix.EAGAIN)

// Journal hands out slots.
type Journal struct {
	file *os.File
	keep Keep

	log   *Log
	fixed []byte // header and log

	mu     sync.Mutex
	chunks [][]byte
	slots  []*Slot // by number
	free   []*Slot // with movers
	least  int     // how many of these there were, since Trim
	bare   []*Slot // free, without
}

// Keep has files outlive the daemon.
type Keep struct {
	Open  func(name string, fds ...int) error // keeps those of descriptors, under a name
	Close func(name string)                   // and not any more
}

// none keeps nothing.
var none = Keep{func(string, ...int) error { return nil }, func(string) {}}

// Create makes an empty journal; nil: nothing outlives the daemon.
func Create(keep *Keep) (*Journal, error) {
	fd, err := unix.MemfdCreate("bproc-slave", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory of the journal: %w", err)
	}
	j := &Journal{file: os.NewFile(uintptr(fd), "journal"), keep: none}
	if keep != nil {
		j.keep = *keep
	}
	if err := j.begin(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Name is the name under which the memory is kept.
const Name = "journal"

func (j *Journal) begin() error {
	if err := j.mapFixed(); err != nil {
		return err
	}
	atomic.StoreUint64(&j.header().magic, magic)
	if err := j.keep.Open(Name, int(j.file.Fd())); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	return nil
}

func (j *Journal) header() *header { return (*header)(unsafe.Pointer(&j.fixed[0])) }

func (j *Journal) mapFixed() error {
	if err := j.grow(slotsAt); err != nil {
		return err
	}
	mem, err := j.mapping(0, slotsAt)
	if err != nil {
		return err
	}
	j.fixed = mem
	j.log = newLog(&j.header().half, mem[logAt:])
	return nil
}

// Log returns the journal's log.
func (j *Journal) Log() *Log { return j.log }

// MakeUp keeps for the next daemon how many lost records of the kernel have been made up for. The
// kernel counts lost records for as long as the space lives.
func (j *Journal) MakeUp(lost uint64) { atomic.StoreUint64(&j.header().madeUp, lost) }

// MadeUp returns what MakeUp has kept; 0: nothing.
func (j *Journal) MadeUp() uint64 { return atomic.LoadUint64(&j.header().madeUp) }

// grow makes the file as large as size if it is smaller.
func (j *Journal) grow(size int64) error {
	st, err := j.file.Stat()
	if err == nil && st.Size() < size {
		err = j.file.Truncate(size)
	}
	if err != nil {
		return fmt.Errorf("size of the journal: %w", err)
	}
	return nil
}

func (j *Journal) mapping(at int64, size int) ([]byte, error) {
	mem, err := unix.Mmap(int(j.file.Fd()), at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the journal: %w", err)
	}
	return mem, nil
}

// Take returns a slot that nobody uses. It may wait until its movers are kept; other routines can
// take and release slots meanwhile.
func (j *Journal) Take() (*Slot, error) {
	s, err := j.unused()
	if err != nil {
		return nil, err
	}
	if s.Input.mover == noMover {
		if err := s.openMovers(); err != nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.bare = append(j.bare, s)
			return nil, err
		}
	}
	s.clear()
	return s, nil
}

// unused takes a slot out of the free ones: one with movers if there is one.
func (j *Journal) unused() (*Slot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.free); n > 0 {
		s := j.free[n-1]
		j.free = j.free[:n-1]
		j.least = min(j.least, n-1)
		return s, nil
	}
	if n := len(j.bare); n > 0 {
		s := j.bare[n-1]
		j.bare = j.bare[:n-1]
		return s, nil
	}
	s, err := j.addLocked(len(j.slots))
	if err == nil {
		j.slots = append(j.slots, s)
	}
	return s, err
}

// addLocked maps the memory of a slot that has not been used.
func (j *Journal) addLocked(n int) (*Slot, error) {
	chunk := n / chunkSlots
	if chunk >= maxChunks {
		return nil, errFull
	}
	if chunk == len(j.chunks) {
		at := slotsAt + int64(chunk)*chunkSlots*slotSize
		if err := j.grow(at + chunkSlots*slotSize); err != nil {
			return nil, err
		}
		mem, err := j.mapping(at, chunkSlots*slotSize)
		if err != nil {
			return nil, err
		}
		j.chunks = append(j.chunks, mem)
	}
	at := n % chunkSlots * slotSize
	return newSlot(j, n, j.chunks[chunk][at:at+slotSize:at+slotSize]), nil
}

// release takes a slot back.
func (j *Journal) release(s *Slot) {
	s.shrink()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.free = append(j.free, s)
}

// spare is how many free slots keep their movers and memory for the next processes.
const spare = 32

// Trim gives up what slots have that nobody has used since the last time, but for some:
// six descriptors each, which init has too, and memory.
func (j *Journal) Trim() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	if n := j.least - spare; n > 0 {
		for _, s := range j.free[:n] { // the next are taken from the end
			s.giveBack()
			errs = append(errs, s.closeMovers())
			j.keep.Close(s.name())
		}
		j.bare = append(j.bare, j.free[:n]...)
		j.free = slices.Delete(j.free, 0, n)
	}
	j.least = len(j.free)
	return errors.Join(errs...)
}

// Close gives the memory up. Nobody may use a slot any more.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, s := range j.slots {
		errs = append(errs, s.closeMovers())
	}
	for _, mem := range append(j.chunks, j.fixed) {
		if mem != nil {
			errs = append(errs, unix.Munmap(mem))
		}
	}
	j.slots, j.free, j.bare, j.chunks, j.fixed = nil, nil, nil, nil, nil
	return errors.Join(append(errs, j.file.Close())...)
}

package supervise

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
)

// table holds the calls that were received and are not answered. It is memory that supervisors
// share, one after the other: the next supervisor finds the calls of one that was killed there, and
// decides them anew. The kernel writes a notification right into its slot
// (SECCOMP_IOCTL_NOTIF_RECV), so there is no moment at which a call is nowhere.
//
// The supervisor that holds the lock of the file (flock(2)) receives. The kernel releases the lock
// of a supervisor that was killed.
type table struct {
	fd    int
	slots []slot

	mu     sync.Mutex
	free   []*slot
	users  map[*slot]uint32 // of the calls that wait
	shares *crowd.Shares[uint32]
}

// slot is one call; it is free if the ID is 0.
type slot struct {
	receiver int32 // Level of the receiver, from which the caller's number is seen
	_        int32
	notif    notif
}

// maxWaiting bounds the calls that wait for the front end or for the next supervisor. No user has
// all places. Calls beyond it get EAGAIN, the kernel's answer to a shortage.
const maxWaiting = 1024

// slots is the number of calls that can wait, and one that is being received.
const slots = maxWaiting + 1

const tableSize = slots * unsafe.Sizeof(slot{})

// NewTable makes the memory of a table, and returns its descriptor. It is for supervisors of one
// listener.
func NewTable() (fd int, err error) {
	fd, err = unix.MemfdCreate("bproc-calls", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("memory for calls: %w", err)
	}
	if err := unix.Ftruncate(fd, int64(tableSize)); err != nil {
		return -1, errors.Join(fmt.Errorf("memory for calls: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// openTable returns the table of a descriptor, which stays the caller's.
func openTable(fd int) (*table, error) {
	// Opened again, so that it has a lock of its own.
	own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("memory for calls: %w", err)
	}
	var st unix.Stat_t
	err = unix.Fstat(own, &st)
	if err == nil && st.Size != int64(tableSize) {
		err = fmt.Errorf("%d bytes, not %d: %w", st.Size, tableSize, unix.EINVAL)
	}
	var mem []byte
	if err == nil {
		mem, err = unix.Mmap(own, 0, int(tableSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("memory for calls: %w", err), unix.Close(own))
	}
	return &table{fd: own, slots: unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(mem))), slots)}, nil
}

func (t *table) close() error {
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t.slots))), tableSize)
	return errors.Join(unix.Munmap(mem), unix.Close(t.fd))
}

// lock takes the lock if it is free.
func (t *table) lock() (bool, error) {
	for {
		err := unix.Flock(t.fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("lock of calls: %w", err)
		}
	}
}

func (t *table) unlock() error { return unix.Flock(t.fd, unix.LOCK_UN) }

// open returns the calls that a former supervisor has left. The caller must have just taken the
// lock.
func (t *table) open() []*slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users, t.shares = make(map[*slot]uint32), crowd.NewShares[uint32](maxWaiting)
	t.free = t.free[:0]
	var open []*slot
	for i := range t.slots {
		s := &t.slots[i]
		if s.id() != 0 {
			open = append(open, s)
			continue
		}
		*s = slot{} // it may be half cleared
		t.free = append(t.free, s)
	}
	return open
}

// take returns a free slot; nil: there is none.
func (t *table) take() *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.free) - 1
	if last < 0 {
		return nil
	}
	s := t.free[last]
	t.free = t.free[:last]
	return s
}

// drop releases the calls whose callers have gone. No slot may be taken that has no call yet.
func (t *table) drop(waits func(id uint64) bool) {
	for i := range t.slots {
		if s := &t.slots[i]; s.id() != 0 && !waits(s.id()) {
			t.release(s)
		}
	}
}

// wait counts a call that is about to wait for its user, and reports whether it may. The call
// counts until it is released.
func (t *table) wait(s *slot, user uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shares.Take(user, 1) {
		return false
	}
	t.users[s] = user
	return true
}

// release frees the slot of a call that was answered, or whose caller has gone.
func (t *table) release(s *slot) {
	s.clear()
	t.mu.Lock()
	defer t.mu.Unlock()
	if user, waits := t.users[s]; waits {
		delete(t.users, s)
		t.shares.Leave(user, 1)
	}
	t.free = append(t.free, s)
}

func (s *slot) id() uint64 { return atomic.LoadUint64(&s.notif.ID) }

// clear makes a slot free. The kernel requires it to be zero to receive into it.
func (s *slot) clear() {
	atomic.StoreUint64(&s.notif.ID, 0) // first: a supervisor that is killed now leaves a free slot
	*s = slot{}
}

package procevents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// noticesRing is room for 4,096 notices, in bytes. A notice of a number that finds no room is lost;
// by then the daemon has long been told that something is wrong.
const noticesRing = 256 << 10

// Range is the numbers from First up to, but not including, End.
type Range struct {
	First, End wire.PID
}

func (r Range) packed() uint64 { return uint64(uint32(r.First))<<32 | uint64(uint32(r.End)) }

// notices is the ring of notices, which must be read at once, and the page by which they are
// requested.
type notices struct {
	mu      sync.Mutex
	ring    *ring
	fd      int
	control []byte    // mapped struct control; nil: not open
	armed   uint32    // generation of the last Arm
	told    time.Time // as last given to Told
}

func (n *notices) open(ring, control int) (err error) {
	n.control, err = unix.Mmap(control, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map the control page: %w", err)
	}
	c := n.shared()
	atomic.AddUint64(&c.Room, 1)
	n.armed = uint32(atomic.LoadUint64(&c.Arm) >> 32) // generation of a former daemon
	n.fd = ring
	n.ring, err = newRing(ring, noticesRing)
	return err
}

func (n *notices) shared() *processControl {
	return (*processControl)(unsafe.Pointer(&n.control[0]))
}

// with calls f if the control page is mapped.
func (n *notices) with(f func(*processControl)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.control != nil {
		f(n.shared())
	}
}

func (n *notices) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	if n.control != nil {
		errs = append(errs, unix.Munmap(n.control))
	}
	if n.ring != nil {
		errs = append(errs, n.ring.close())
	}
	n.control, n.ring = nil, nil
	return errors.Join(errs...)
}

// Arm requests one CursorLow notice when a task gets a number that is not below low. It replaces
// the request before. A notice that was on its way may still come; now and then one comes twice.
func (s *Source) Arm(low wire.PID) {
	s.notices.with(func(c *processControl) {
		s.notices.armed++
		atomic.StoreUint64(&c.Arm, uint64(s.notices.armed)<<32|uint64(uint32(low)))
	})
}

// Allow sets which numbers tasks may be given from now on, besides those of the call before. A task
// that gets any other causes a Stray notice.
func (s *Source) Allow(numbers Range) {
	s.notices.with(func(c *processControl) {
		atomic.StoreUint64(&c.Ours[1], c.Ours[0])
		atomic.StoreUint64(&c.Ours[0], numbers.packed())
		atomic.StoreUint64(&c.Last, 0)
	})
}

// Last returns, approximately, the last number given of those that Allow has allowed; 0: none yet.
func (s *Source) Last() (last wire.PID) {
	s.notices.with(func(c *processControl) { last = wire.PID(atomic.LoadUint64(&c.Last)) })
	return last
}

// Emptied requests a Filling notice when the ring of records is half full.
func (s *Source) Emptied() {
	s.notices.with(func(c *processControl) { atomic.AddUint64(&c.Room, 1) })
}

// Told says that all processes that had started by a time have been reported. Their records wake Wait
// from then on, whatever else is kept.
func (s *Source) Told(at time.Time) {
	s.notices.with(func(c *processControl) {
		var now unix.Timespec
		if at.Equal(s.notices.told) || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil { // it cannot fail
			return
		}
		s.notices.told = at
		atomic.StoreUint64(&c.Told, uint64(now.Nano()-time.Since(at).Nanoseconds()))
	})
}

// urgent returns how many records there were so far of processes that had been reported.
func (s *Source) urgent() (count uint64) {
	s.notices.with(func(c *processControl) { count = atomic.LoadUint64(&c.Urgent) })
	return count
}

// setWaiting says whether Wait waits for urgent records.
func (s *Source) setWaiting(waits uint64) {
	s.notices.with(func(c *processControl) { atomic.StoreUint64(&c.Waiting, waits) })
}

// Lost returns how many records have found no room in the ring so far. When it has grown,
// [Tracker.Resync] is due.
func (s *Source) Lost() (lost uint64) {
	s.notices.with(func(c *processControl) { lost = atomic.LoadUint64(&c.Lost) })
	return lost
}

// Attend calls f for each notice until ctx ends, and returns its cause. It waits in a system call
// of its own, so that it can run on a thread with a priority of its own. f may call the Source.
func (s *Source) Attend(ctx context.Context, f func(Record)) error {
	ring, err := unix.FcntlInt(uintptr(s.notices.fd), unix.F_DUPFD_CLOEXEC, 0) // outlives the Source
	if err != nil {
		return fmt.Errorf("wait for notices: %w", err)
	}
	defer unix.Close(ring)
	end, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("wait for notices: eventfd: %w", err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_, _ = unix.Write(end, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only if the counter is at its limit
	})
	defer func() {
		if !stop() {
			<-ended
		}
		unix.Close(end)
	}()
	ready := []unix.PollFd{{Fd: int32(ring), Events: unix.POLLIN}, {Fd: int32(end), Events: unix.POLLIN}}
	for {
		if _, err := longcall.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for notices: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, r := range s.notices.take() {
			f(r)
		}
	}
}

func (n *notices) take() (all []Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ring != nil {
		n.ring.drain(func(r Record) { all = append(all, r) })
	}
	return all
}

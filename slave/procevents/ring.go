package procevents

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring reads a BPF ring buffer through its mapped pages: one with the consumer's
// position, one with the producer's, then the data, mapped twice in a row so that
// no record is split (kernel/bpf/ringbuf.c). The caller holds a lock.
type ring struct {
	consumer []byte // page of the consumer's position
	producer []byte // page of the producer's position and the data behind it
	page     uint64
	mask     uint64
	at       uint64 // position up to which records were read; the kernel may reuse what is before the consumer's position
}

// Header of a record (struct bpf_ringbuf_hdr): the length, with two flags, and a page offset that
// is not needed here.
const (
	headerSize  = unix.BPF_RINGBUF_HDR_SZ
	busyBit     = unix.BPF_RINGBUF_BUSY_BIT
	discardBit  = unix.BPF_RINGBUF_DISCARD_BIT
	recordSize  = unsafe.Sizeof(processRecord{})
	spinsOfBusy = 1000 // then sleep: the writer's virtual processor is not running
)

func newRing(fd, size int) (*ring, error) {
	page := os.Getpagesize()
	consumer, err := unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map consumer page of the ring: %w", err)
	}
	producer, err := unix.Mmap(fd, int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		unix.Munmap(consumer)
		return nil, fmt.Errorf("map data of the ring: %w", err)
	}
	r := &ring{consumer: consumer, producer: producer, page: uint64(page), mask: uint64(size - 1)}
	r.at = atomic.LoadUint64(r.consumed())
	return r, nil
}

func (r *ring) close() error {
	return errors.Join(unix.Munmap(r.consumer), unix.Munmap(r.producer))
}

func (r *ring) consumed() *uint64 { return (*uint64)(unsafe.Pointer(&r.consumer[0])) }

func (r *ring) produced() uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&r.producer[0])))
}

// empty reports whether everything that was reserved has been released. It is the last look before
// sleeping. In the kernel, a writer commits with a full barrier, then reads the consumer's
// position. Here, the position was stored, and is followed by this load in the order of all atomics
// of Go. So either the writer sees that the reader has caught up and wakes it, or the reader sees
// the record.
func (r *ring) empty() bool { return atomic.LoadUint64(r.consumed()) == r.produced() }

// keeps reports whether records that were read have not been released.
func (r *ring) keeps() bool { return atomic.LoadUint64(r.consumed()) != r.at }

// read calls f for all records that are reserved when it is called, each with its position.
func (r *ring) read(f func(Record, uint64)) {
	for end := r.produced(); r.at < end; {
		base := r.page + r.at&r.mask
		header := r.committed((*uint32)(unsafe.Pointer(&r.producer[base])))
		length := header &^ discardBit
		if header&discardBit == 0 && uintptr(length) == recordSize {
			f((*processRecord)(unsafe.Pointer(&r.producer[base+headerSize])).record(), r.at)
		}
		r.at += (uint64(length) + headerSize + 7) &^ 7
	}
}

// release gives the kernel the room of the records that were read before a position.
func (r *ring) release(to uint64) {
	if to > atomic.LoadUint64(r.consumed()) {
		atomic.StoreUint64(r.consumed(), min(to, r.at))
	}
}

// drain reads everything and releases it.
func (r *ring) drain(f func(Record)) {
	r.read(func(rec Record, _ uint64) { f(rec) })
	r.release(r.at)
}

// committed waits until a record is complete. The writer is between two lines of a BPF program, so
// this takes nanoseconds, unless an interrupt or a hypervisor has taken the processor away.
func (r *ring) committed(header *uint32) uint32 {
	for spins := 0; ; spins++ {
		h := atomic.LoadUint32(header)
		if h&busyBit == 0 {
			return h
		}
		if spins < spinsOfBusy {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

package journal

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A slot begins with a page for each of the two outputs, each before the output's ring.
// The first has the facts of the process, too.
const (
	laneSize = pageSize + wire.Window
	slotSize = 2 * laneSize

	factsAt = 1 << 10 // in the first page
)

// Facts are what is to be known of a process when the daemon that started it is gone.
type Facts struct {
	PID     wire.PID
	UID     uint32
	Launch  uint64
	Streams [3]bool // which descriptors are streams

	Terminal bool // the streams are a terminal
}

// facts is how they are in the slot.
type facts struct {
	used    uint64 // 1: the rest holds
	launch  uint64
	pid     int32
	uid     uint32
	streams uint64 // bits, with terminalBit
	left    uint64 // 1: the client has left
	input   inputWords
}

// Slot is the memory of one process.
type Slot struct {
	j      *Journal
	number int
	mem    []byte
	facts  *facts

	Input   *Input
	Outputs [2]*Output // standard output and error
}

func newSlot(j *Journal, number int, mem []byte) *Slot {
	s := &Slot{j: j, number: number, mem: mem, facts: (*facts)(unsafe.Pointer(&mem[factsAt]))}
	s.Input = &Input{w: &s.facts.input, mover: noMover}
	for i := range s.Outputs {
		s.Outputs[i] = newOutput(mem[i*laneSize : (i+1)*laneSize])
	}
	return s
}

// Number returns the slot's number, which no other slot has.
func (s *Slot) Number() int { return s.number }

// terminalBit is beside the bits of the descriptors.
const terminalBit = 3

// Use enters the facts of a process. From now on the next daemon knows of it.
func (s *Slot) Use(f Facts) {
	w := s.facts
	w.launch, w.pid, w.uid, w.streams, w.left = f.Launch, int32(f.PID), f.UID, 0, 0
	for bit, is := range [...]bool{f.Streams[0], f.Streams[1], f.Streams[2], terminalBit: f.Terminal} {
		if is {
			w.streams |= 1 << bit
		}
	}
	atomic.StoreUint64(&w.used, 1)
}

// Facts returns what Use has entered.
func (s *Slot) Facts() Facts {
	w := s.facts
	f := Facts{PID: wire.PID(w.pid), UID: w.uid, Launch: w.launch}
	for fd := range f.Streams {
		f.Streams[fd] = w.streams&(1<<fd) != 0
	}
	f.Terminal = w.streams&(1<<terminalBit) != 0
	return f
}

// Leave says that the client has left: its process has no output any more.
func (s *Slot) Leave() { atomic.StoreUint64(&s.facts.left, 1) }

// Left reports whether it has.
func (s *Slot) Left() bool { return atomic.LoadUint64(&s.facts.left) != 0 }

// Release gives the slot back. What is in its movers is dropped.
func (s *Slot) Release() {
	atomic.StoreUint64(&s.facts.used, 0)
	for _, p := range s.movers() {
		p.drain()
	}
	s.j.release(s)
}

// clear makes the slot as new.
func (s *Slot) clear() {
	atomic.StoreUint64(&s.facts.used, 0)
	s.Input.clear()
	for _, o := range s.Outputs {
		o.clear()
	}
}

// kept is how much of a ring stays in memory when its process has ended, in bytes:
// what most processes write.
const kept = 32 << 10

// shrink gives back the memory of rings that were much used.
func (s *Slot) shrink() {
	for i, o := range s.Outputs {
		if o.w.head <= kept {
			continue
		}
		at := slotsAt + int64(s.number)*slotSize + int64(i)*laneSize + pageSize + kept
		// Without it the memory stays the slot's, which is not lost either.
		_ = unix.Fallocate(int(s.j.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, wire.Window-kept)
	}
}

// giveBack gives back all memory of a slot that nobody uses.
func (s *Slot) giveBack() {
	// Without it the memory stays the slot's, as in shrink.
	_ = unix.Fallocate(int(s.j.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, slotsAt+int64(s.number)*slotSize, slotSize)
}

func (s *Slot) movers() [3]*mover {
	return [3]*mover{&s.Input.mover, &s.Outputs[0].mover, &s.Outputs[1].mover}
}

// name is that under which the movers are kept.
func (s *Slot) name() string { return fmt.Sprintf("%s%d", movesPrefix, s.number) }

const movesPrefix = "movers "

// openMovers makes the movers and has them kept.
func (s *Slot) openMovers() error {
	var fds []int
	for _, m := range s.movers() {
		if err := m.open(); err != nil {
			return errors.Join(err, s.closeMovers())
		}
		fds = append(fds, m.read, m.write)
	}
	if err := s.j.keep.Open(s.name(), fds...); err != nil {
		return errors.Join(err, s.closeMovers())
	}
	return nil
}

func (s *Slot) closeMovers() error {
	var errs []error
	for _, m := range s.movers() {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

package ghost

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// errHeld means that a ghost is on its last way and can do nothing any more.
var errHeld = unix.ESRCH

// driven is a ghost that stands still, so that its registers can be written.
type driven struct {
	s     *shard
	g     *held
	saved registers

	running bool // it goes on already, and may be in its next stop
}

// scratch is how far below the stack pointer a ghost's memory is used for the
// arguments of system calls: beyond the red zone, within the page of its argv
// where that is short.
const scratch = 512

// scratch is the address of that memory.
func (d *driven) scratch() uint64 { return (d.saved.stack() - scratch) &^ 15 }

// comeUp is how long a ghost gets for the code before its loop, at first: when the
// machine is busy, it may not get a processor before it is interrupted again.
const comeUp = 20 * time.Microsecond

// take stops a ghost in its loop.
func (s *shard) take(g *held) (*driven, error) {
	for pause := comeUp; ; pause = min(2*pause, time.Millisecond) {
		d, err := s.halt(g)
		if err != nil {
			return nil, err
		}
		if waits(d.saved.pc()) {
			return d, nil
		}
		// It still comes up, which takes it microseconds of its own time.
		_ = goOn(unix.PTRACE_CONT, g.pid, 0)
		time.Sleep(pause)
	}
}

// halt stops a ghost between two instructions. Signals that stop it first are
// handled on the way; as any stop undoes an interruption that is under way
// (ptrace_stop of kernel/signal.c), it is interrupted anew then.
func (s *shard) halt(g *held) (*driven, error) {
	if g.killed {
		return nil, errHeld
	}
	for {
		if err := resume(unix.PTRACE_INTERRUPT, g.pid, 0); err != nil {
			return nil, fmt.Errorf("interrupt ghost %d: %w", g.pid, err)
		}
		if d, err := s.halted(g); d != nil || err != nil {
			return d, err
		}
	}
}

// halted handles the next stop of a ghost that was interrupted; nil if it was stopped by
// something else, and goes on.
func (s *shard) halted(g *held) (*driven, error) {
	st, err := s.next(g)
	if err != nil {
		return nil, err
	}
	switch st.event {
	case unix.PTRACE_EVENT_STOP:
		s.seeStop(g, st)
		d := &driven{s: s, g: g}
		if err := d.saved.get(g.pid); err != nil {
			return nil, fmt.Errorf("registers of ghost %d: %w", g.pid, err)
		}
		return d, nil
	case 0:
		s.deliver(g, unix.PTRACE_CONT)
	default:
		_ = goOn(unix.PTRACE_CONT, g.pid, 0)
	}
	return nil, nil
}

// next waits for the next stop of one ghost. The end of the ghost is handled
// here.
func (s *shard) next(g *held) (stop, error) {
	_, status, err := s.await(g.pid, 0)
	if err != nil {
		return stop{}, fmt.Errorf("wait for ghost %d: %w", g.pid, err)
	}
	if status.Exited() || status.Signaled() {
		s.gone(g, status)
		return stop{}, errHeld
	}
	st := stopOf(status)
	if st.event == unix.PTRACE_EVENT_EXIT {
		s.exiting(g)
		return stop{}, errHeld
	}
	return st, nil
}

// set makes the ghost's next instruction a system call.
func (d *driven) set(number uint64, args ...uint64) error {
	r := d.saved
	var all [6]uint64
	copy(all[:], args)
	r.call(number, all)
	return r.set(d.g.pid)
}

// call makes a system call in the ghost, and returns its result. Of the events
// that a call can cause, until is the one that is its success; the ghost then
// stands in that event's stop. A call that a signal has interrupted is made
// again, as the kernel would: clone3 does not begin with a signal pending.
func (d *driven) call(until int, number uint64, args ...uint64) (int64, error) {
	for {
		if d.g.killed {
			return 0, errHeld // in the stop of its exit, in which it can do nothing
		}
		if err := d.set(number, args...); err != nil {
			return 0, fmt.Errorf("registers of ghost %d: %w", d.g.pid, err)
		}
		result, err := d.step(until)
		var errno unix.Errno
		if !errors.As(err, &errno) || errno < restartFirst || errno > restartLast {
			return result, err
		}
	}
}

// Results of system calls that the kernel makes again and that only a tracer
// sees: ERESTARTSYS to ERESTART_RESTARTBLOCK of linux/errno.h.
const (
	restartFirst unix.Errno = 512
	restartLast  unix.Errno = 516
)

// syscallStop is the signal of a stop at the entry or the exit of a system call
// (ptrace(2), PTRACE_O_TRACESYSGOOD).
const syscallStop = unix.SIGTRAP | 0x80

// step lets the ghost make the system call that set has prepared. It does so
// from stop to stop and not by a single step: a processor that was told to step
// goes on telling, and should the keeper die in this moment, the trap would be
// the ghost's end.
func (d *driven) step(until int) (int64, error) {
	entered := false
	for {
		if err := goOn(unix.PTRACE_SYSCALL, d.g.pid, 0); err != nil {
			return 0, fmt.Errorf("system call in ghost %d: %w", d.g.pid, err)
		}
		st, err := d.s.next(d.g)
		for err == nil && st.event == 0 && st.signal != syscallStop {
			d.s.deliver(d.g, unix.PTRACE_SYSCALL)
			st, err = d.s.next(d.g)
		}
		switch {
		case err != nil:
			return 0, err
		case st.event != 0 && st.event == until:
			return 0, nil
		case st.event == unix.PTRACE_EVENT_STOP: // it was stopped, or goes on, on the way
			d.s.seeStop(d.g, st)
		case st.event != 0: // a stop that says nothing here
		case entered:
			return d.result()
		default:
			entered = true
		}
	}
}

func (d *driven) result() (int64, error) {
	var r registers
	if err := r.get(d.g.pid); err != nil {
		return 0, fmt.Errorf("registers of ghost %d: %w", d.g.pid, err)
	}
	if v := r.result(); v < 0 && v > -4096 {
		return 0, unix.Errno(-v)
	}
	return r.result(), nil
}

// release lets the ghost go on. After a system call it stands in its loop. A
// ghost that was stopped is stopped again, and its parent has seen nothing.
func (d *driven) release() {
	if d.g.killed {
		return // it got SIGKILL meanwhile, and is held in its exit
	}
	if d.g.stopped {
		_ = resume(unix.PTRACE_INTERRUPT, d.g.pid, 0)
	}
	if d.g.marked {
		d.g.marked = false
		_ = d.s.mark.send(d.g.pid, markSignal)
	}
	if !d.running { // else that would be a stop that nobody has seen
		_ = goOn(unix.PTRACE_CONT, d.g.pid, 0)
	}
}

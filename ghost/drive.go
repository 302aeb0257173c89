package ghost

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// errHeld means that a ghost is on its last way and can do nothing any more.
var errHeld = unix.ESRCH

// driven is a ghost that stands still, so that its registers can be written.
type driven struct {
	s     *shard
	g     *held
	saved registers
}

// comeUp is how long a ghost gets for the code before its loop.
const comeUp = 20 * time.Microsecond

// take stops a ghost between two instructions. Signals that stop it first are
// handled on the way; as any stop undoes an interruption that is under way
// (ptrace_stop of kernel/signal.c), it is interrupted anew then.
func (s *shard) take(g *held) (*driven, error) {
	if g.killed {
		return nil, errHeld
	}
	for {
		if err := resume(unix.PTRACE_INTERRUPT, g.pid, 0); err != nil {
			return nil, fmt.Errorf("interrupt ghost %d: %w", g.pid, err)
		}
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
			if waits(d.saved.pc()) {
				return d, nil
			}
			// It still comes up, which takes it microseconds of its own time.
			_ = resume(unix.PTRACE_CONT, g.pid, 0)
			time.Sleep(comeUp)
		case 0:
			s.deliver(g, unix.PTRACE_CONT)
		default:
			_ = resume(unix.PTRACE_CONT, g.pid, 0)
		}
	}
}

// next waits for the next stop of one ghost. The end of the ghost is handled
// here.
func (s *shard) next(g *held) (stop, error) {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(int(g.pid), &status, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return stop{}, fmt.Errorf("wait for ghost %d: %w", g.pid, err)
		}
		break
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

// step lets the ghost make the one instruction that set has prepared.
func (d *driven) step(until int) (int64, error) {
	for {
		if err := resume(unix.PTRACE_SINGLESTEP, d.g.pid, 0); err != nil {
			return 0, fmt.Errorf("step ghost %d: %w", d.g.pid, err)
		}
		for {
			st, err := d.s.next(d.g)
			if err != nil {
				return 0, err
			}
			if st.event != 0 && st.event == until {
				return 0, nil
			}
			if st.event != 0 {
				break // a stop that says nothing here: step on
			}
			if st.signal == unix.SIGTRAP && stepped(d.g.pid) {
				return d.result()
			}
			d.s.deliver(d.g, unix.PTRACE_SINGLESTEP)
		}
	}
}

// stepped reports whether a SIGTRAP is the end of a single step: the kernel
// sends it for the trap, with a code above zero (TRAP_TRACE, TRAP_BRKPT).
func stepped(pid wire.PID) bool {
	info, err := getSiginfo(pid)
	return err == nil && info.code() > 0
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
	if d.g.stopped {
		_ = resume(unix.PTRACE_INTERRUPT, d.g.pid, 0)
	}
	_ = resume(unix.PTRACE_CONT, d.g.pid, 0)
}

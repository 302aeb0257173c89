package ghost

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// errHeld means that a ghost is ending and can do nothing any more.
var errHeld = unix.ESRCH

// driven is a ghost that is stopped, so that its registers can be written.
type driven struct {
	s     *shard
	g     *held
	saved registers
}

// scratch is the distance below the stack pointer of the memory that is used for a ghost's system
// calls and their arguments: beyond the red zone, within the page of its argv where that is short.
const scratch = 1024

// scratch is the address of that memory.
func (d *driven) scratch() uint64 { return (d.saved.stack() - scratch) &^ 15 }

// comeUp is how long a ghost may first take for the code before its loop: on a busy machine it may
// not get a processor before it is interrupted again.
const comeUp = 20 * time.Microsecond

// maxPause is the longest pause for a ghost that does not come up, for example because it is
// frozen.
const maxPause = 256 * time.Millisecond

// drive stops a ghost in its loop. It may still be stopped there from the previous request.
func (s *shard) drive(g *held) (*driven, error) {
	if d := s.offered; d != nil && d.g == g {
		s.offered = nil
		return d, nil
	}
	waited := time.Duration(0)
	d, err := s.halt(g)
	for pause := comeUp; ; pause = min(2*pause, maxPause) {
		if err != nil {
			return nil, err
		}
		if waits(d.saved.pc()) {
			return d, nil
		}
		// It still comes up, which takes microseconds of its own time.
		_ = goOn(unix.PTRACE_CONT, g.pid, 0)
		if err := s.pause(g, waited, pause); err != nil {
			return nil, err
		}
		waited += pause
		d, err = s.haltAgain(g)
	}
}

// haltAgain is halt for a ghost that has been resumed. A ghost that was interrupted while it was stopped stops
// again at once, without executing anything. Another interruption would only repeat that, so this stop is used.
func (s *shard) haltAgain(g *held) (*driven, error) {
	if found, _, _ := look(g.pid, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG); found != 0 {
		if d, err := s.halted(g); d != nil || err != nil {
			return d, err
		}
	}
	return s.halt(g)
}

// halt stops a ghost between two instructions. Signals that stop it first are handled on the way.
// Any stop cancels a pending interruption (ptrace_stop of kernel/signal.c), so the ghost is then
// interrupted anew. A ghost that was just made stops before its first instruction.
func (s *shard) halt(g *held) (*driven, error) {
	if g.killed || g.asked {
		return nil, errHeld
	}
	for {
		if !g.fresh {
			if err := resume(unix.PTRACE_INTERRUPT, g.pid, 0); err != nil {
				return nil, fmt.Errorf("interrupt ghost %d: %w", g.pid, err)
			}
		}
		if d, err := s.halted(g); d != nil || err != nil {
			return d, err
		}
	}
}

// halted handles the next stop of a ghost that was interrupted. It returns nil if something else
// stopped the ghost, which then goes on.
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
			return nil, s.lost(g, "registers of", err)
		}
		return d, nil
	case 0:
		s.deliver(g)
	default:
		_ = goOn(unix.PTRACE_CONT, g.pid, 0)
	}
	return nil, nil
}

// next waits for the next stop of one ghost. It also handles the ghost's end.
func (s *shard) next(g *held) (stop, error) {
	status, err := s.awaitStop(g)
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

// lost interprets the failure of an operation on a stopped ghost. ESRCH means that SIGKILL has
// taken it from its stop (ptrace(2)). Its next stop is that at its exit, after which it is held
// like any other.
func (s *shard) lost(g *held, doing string, err error) error {
	if errors.Is(err, unix.ESRCH) && !g.killed && s.ghosts[g.pid] == g {
		if _, err := s.next(g); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s ghost %d: %w", doing, g.pid, err)
}

// call makes a system call in the ghost, and returns its result. Signals that the ghost got before
// the call returned are reported.
func (d *driven) call(number uint64, args ...uint64) (int64, error) {
	return d.callUntil(0, here.one, newCalling(number, args...))
}

// callUntil is call for a system call that causes an event on success: the ghost is then in that
// event's stop.
func (d *driven) callUntil(event int, offset uint64, c calling) (int64, error) {
	r := d.saved
	r.begin(offset, d.g.pid)
	r.call(c)
	if happened, err := d.run(&r, event); happened || err != nil {
		return 0, err
	}
	return r.result(), errnoIn(r.result())
}

// write writes to the memory of the ghost.
func (d *driven) write(pieces ...piece) error {
	if err := write(d.g.pid, pieces...); err != nil {
		return d.s.lost(d.g, "write memory of", err)
	}
	return nil
}

// make has the ghost make the calls of a list up to the first that fails, and returns its error.
// The pieces are written to the ghost's memory together with the list.
func (d *driven) make(l *list, pieces ...piece) error {
	if len(l.calls) == 0 {
		return nil
	}
	block, first := l.block()
	if err := d.write(append(pieces, piece{l.addr, block})...); err != nil {
		return err
	}
	r := d.saved
	r.begin(here.list, d.g.pid)
	r.calls(first)
	if _, err := d.run(&r, 0); err != nil {
		return err
	}
	made := int(r.next()-first) / sizeofCalling
	err := errnoIn(r.result())
	if err != nil {
		made--
	}
	for _, after := range l.after[:made] {
		if after != nil {
			after()
		}
	}
	return err
}

// errnoIn returns the error that a system call's result stands for, if any.
func errnoIn(result int64) error {
	if result < 0 && result > -4096 {
		return unix.Errno(-result)
	}
	return nil
}

// maxHeard bounds how many signals a ghost is relieved of while it is driven, so that a flood of
// them cannot hold up its shard when the ghost is done.
const maxHeard = 1024

// run lets the ghost go on with the registers r until it has said that it is done (see said), and
// stores its registers in r then, or until it is in the stop of an event. The kernel restarts a
// call that a signal interrupts: clone3 does not begin with a signal pending.
func (d *driven) run(r *registers, event int) (happened bool, err error) {
	if d.g.killed {
		return false, errHeld // in the stop of its exit, in which it can do nothing
	}
	if err := r.set(d.g.pid); err != nil {
		return false, d.s.lost(d.g, "set registers of", err)
	}
	for heard := 0; ; {
		if err := goOn(unix.PTRACE_CONT, d.g.pid, 0); err != nil && !errors.Is(err, unix.ESRCH) { // killed: the next stop shows it
			return false, fmt.Errorf("let ghost %d go on: %w", d.g.pid, err)
		}
		st, err := d.s.next(d.g)
		switch {
		case err != nil:
			return false, err
		case st.event != 0 && st.event == event:
			return true, nil
		case st.event == unix.PTRACE_EVENT_STOP: // it was stopped, or continued, on the way
			d.s.seeStop(d.g, st)
		case st.event == 0:
			if heard++; d.hear(r, heard < maxHeard) {
				return false, nil
			}
		}
	}
}

// hear handles a signal that stops the ghost while it is driven, and reports whether the ghost is
// done. The signal that says so comes after all others; if patient is false, hear looks where the
// ghost has stopped instead.
func (d *driven) hear(r *registers, patient bool) (done bool) {
	info := signalAt(d.g.pid)
	if info == nil {
		return false
	}
	says := said(info, d.g.pid)
	if says || !patient {
		if r.get(d.g.pid) != nil {
			return false // SIGKILL has taken it from its stop, and nothing else counts
		}
		done = r.pc() == textAddr(here.said)
	}
	switch {
	case done && says:
		d.g.marked = d.g.marked || d.g.plain // the kernel may have merged both signals
	case d.s.isMark(d.g, info):
		// Not before the pending calls: they may put the ghost into another group, and in its
		// present group the stop of a terminal may have no effect.
		d.g.marked = true
	default:
		d.s.heed(d.g, info)
	}
	if done && !says {
		d.g.owed++
	}
	return done
}

// said reports whether a signal looks like the one by which a ghost says that it is done: SIGRTMAX
// from itself. The kernel delivers it after all other pending signals (beyond RLIMIT_SIGPENDING it
// does not record the sender), and drops it when there is no keeper. The place where the ghost
// stops then tells it from a signal that its process sent.
func said(info *siginfo, self wire.PID) bool {
	return info.signal() == markSignal && info.code() == siUser && (info.sender() == self || info.lost())
}

// release lets the ghost go on, unless the next request is for it, too: then it stays stopped until
// that is carried out.
func (d *driven) release() {
	if d.g.pid == d.s.upcoming && !d.g.killed {
		d.s.standing = d
		return
	}
	d.letGo()
}

// letGo lets the ghost go on. After system calls it is before its loop. A ghost that was in a group
// stop is stopped again, and its parent has seen nothing.
func (d *driven) letGo() {
	if d.g.killed {
		return // it got SIGKILL meanwhile, and is held in its exit
	}
	if d.g.stopped {
		_ = resume(unix.PTRACE_INTERRUPT, d.g.pid, 0)
	}
	if d.g.marked {
		d.g.marked = false
		_ = d.s.sendMark(d.g)
	}
	_ = goOn(unix.PTRACE_CONT, d.g.pid, 0)
}

package procfs

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// preparer has the kernel know processes before anybody looks, so that the first look at
// them takes no longer than another. It works after births, of which it is told
// (Config.Births): while nothing is born it does nothing.
//
//	a birth --> settle --> round: the nodes are asked, once; then the processes are looked
//	    ^                  into, one after the other, as by the warmer
//	    '----- rest <------------'
//
// Each process is looked into once. What is younger than settle waits for another round,
// so that most of what lives for a short time costs nothing. A reader who lists meanwhile has
// the warmer for himself: the preparer waits for its turn before each process.
type preparer struct {
	view   *View
	spell  time.Duration
	pause  func(context.Context, time.Duration) bool // pause, but in tests
	done   map[wire.PID]uint64                       // what was looked into, by process.born
	thread atomic.Int32                              // by which it is being looked into; 0: by none
}

// Bounds on what it costs.
const (
	// settle is how old a process is that is looked into.
	settle = 3 * time.Second

	// While a round lasts, this process uses one part of a processor in idleTimes + 1: it
	// pauses after each spell of work.
	spell      = 5 * time.Millisecond
	idleTimes  = 4
	longestGap = time.Second

	// After a round it rests for so many times what that has cost, the nodes' time
	// included.
	restTimes   = 20
	longestRest = time.Minute

	// In a round nodes are asked until they tell nothing new: most have told all by the
	// second time.
	leastAsked, mostAsked = 2, 8

	// A master that does not answer, or does not know what births are, is asked again after
	// the first of these times, then after longer and longer ones.
	firstAgain, lastAgain = time.Second, time.Minute
)

// run waits for births and then makes processes known, until the context ends.
func (p *preparer) run(ctx context.Context) error {
	if p.view.cfg.Births == nil {
		<-ctx.Done()
		return nil
	}
	var told uint64
	again := firstAgain
	for ctx.Err() == nil {
		count, err := p.view.cfg.Births(ctx, told)
		if err != nil {
			p.view.log.Debug("births are not told", "err", err)
			p.pause(ctx, again)
			again = min(2*again, lastAgain)
			continue
		}
		again = firstAgain
		if count != told {
			told = count
			p.afterBirths(ctx)
		}
	}
	return nil
}

// afterBirths makes rounds until there is no process that was too young in the last.
func (p *preparer) afterBirths(ctx context.Context) {
	for young := true; young && p.pause(ctx, settle); {
		begin := worked()
		var asking time.Duration
		asking, young = p.round(ctx)
		p.pause(ctx, min(restTimes*(worked()-begin+asking), longestRest))
	}
}

// round asks the nodes, and looks into what is new. It returns for how long it waited for
// the nodes, and whether there is something that is too young.
func (p *preparer) round(ctx context.Context) (asking time.Duration, young bool) {
	count := 0
	for asked := 1; asked <= mostAsked; asked++ {
		begin := time.Now()
		p.view.refresh(ctx)
		asking += time.Since(begin)
		var due []wire.PID
		due, young = p.due()
		if len(due) == 0 && asked >= leastAsked {
			break
		}
		count += p.look(ctx, due)
		if !p.pause(ctx, freshness) { // or it would not be asked again
			break
		}
	}
	p.view.log.Debug("processes are prepared", "count", count, "young", young)
	return asking, young
}

// due returns the processes that are to be looked into, in the order in which readers do that,
// and whether there are others that are too young.
func (p *preparer) due() (due []wire.PID, young bool) {
	now := newClock()
	done := make(map[wire.PID]uint64, len(p.done))
	v := p.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	for pid, q := range v.processes {
		switch {
		case p.done[pid] == q.born:
			done[pid] = q.born
		case now.settled(q):
			due = append(due, pid)
		default:
			young = true
		}
	}
	p.done = done
	slices.Sort(due)
	return due, young
}

// clock is a moment, in the ways in which the age of a process is known.
type clock struct {
	boot time.Duration // since this machine was started
	unix int64         // seconds since 1970
}

func newClock() clock {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		t = unix.Timespec{}
	}
	return clock{time.Duration(t.Nano()), time.Now().Unix()}
}

// Tick is the unit of times of start (proc_pid_stat(5): USER_HZ, which is 100 on all
// architectures of ours).
const Tick = time.Second / 100

// settled reports whether a process has lived for the time of settle: by what its node
// says, or, as clocks can differ, by when it was seen first.
func (c clock) settled(p *process) bool {
	start, err := strconv.ParseInt(string(p.start), 10, 64)
	age := c.boot - time.Duration(start)*Tick
	return err == nil && age >= settle || c.unix-p.since > int64(settle/time.Second)
}

// look looks into processes, and returns how many.
func (p *preparer) look(ctx context.Context, due []wire.PID) int {
	buf := make([]byte, listSize)
	begin := worked()
	for i, pid := range due {
		p.lookInto(pid, buf)
		if used := worked() - begin; used >= p.spell {
			if !p.pause(ctx, min(idleTimes*used, longestGap)) {
				return i + 1
			}
			begin = worked()
		}
	}
	return len(due)
}

// lookInto makes a process known. Nothing is open in the view then, which somebody may
// want to unmount.
func (p *preparer) lookInto(pid wire.PID, buf []byte) {
	w := p.view.warmer
	w.turn.Lock()
	defer w.turn.Unlock()
	if q := p.view.process(pid); q != nil {
		p.done[pid] = q.born
	}
	err := w.inRoot(unix.O_PATH, func(root int) error {
		p.thread.Store(int32(unix.Gettid()))
		defer p.thread.Store(0)
		w.look(root, pid, buf)
		return nil
	})
	if err != nil {
		p.view.log.Debug("a process is not prepared", "pid", int(pid), "err", err)
	}
}

// asks reports whether a request is the preparer's own. It is content with what it has
// asked the nodes itself.
func (p *preparer) asks(ctx context.Context) bool {
	thread := p.thread.Load()
	return thread != 0 && thread == caller(ctx)
}

// worked returns the processor time of this process so far.
func worked() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// pause reports whether the context lives on after some time.
func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

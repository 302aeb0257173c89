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

// preparer makes the kernel know processes before any program reads them, so that the first reading
// takes no longer than later ones. It works after births, of which it is told (Config.Births):
// without births it does nothing.
//
//	a birth --> settle --> round: the nodes are asked, once; then the processes are read,
//	    ^                  one after the other, as by the warmer
//	    '----- rest <------------'
//
// Each process is read once. A process younger than settle waits for another round, so that most
// short-lived processes cost nothing. A reader who lists meanwhile has the warmer for itself: the
// preparer waits for its turn before each process.
type preparer struct {
	view  *View
	spell time.Duration
	pause func(context.Context, time.Duration) bool // pause, except in tests
	done  map[wire.PID]uint64                       // processes that were read, by process.born
	looks atomic.Bool                               // the scout looks for the preparer
	err   error                                     // the scout has failed
}

// Bounds of its cost.
const (
	// settle is the age at which a process is read.
	settle = 3 * time.Second

	// During a round, this process uses one part of a processor in idleTimes + 1: it pauses after
	// each spell of work.
	spell      = 5 * time.Millisecond
	idleTimes  = 4
	longestGap = time.Second

	// After a round it rests for restTimes the cost of the round, the nodes' time included.
	restTimes   = 20
	longestRest = time.Minute

	// In a round nodes are asked until they tell nothing new: most have told everything after the
	// second time.
	leastAsked, mostAsked = 2, 8

	// A master that does not answer, or does not know of births, is asked again after the first of
	// these times, then after longer and longer ones, up to the last.
	firstAgain, lastAgain = time.Second, time.Minute
)

// run waits for births and then reads processes, until the context ends.
func (p *preparer) run(ctx context.Context) error {
	if p.view.cfg.Births == nil {
		<-ctx.Done()
		return nil
	}
	var told uint64
	again := firstAgain
	for ctx.Err() == nil && p.err == nil {
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
	<-ctx.Done()
	return nil
}

// afterBirths makes rounds until no process was too young in the last one.
func (p *preparer) afterBirths(ctx context.Context) {
	for young := true; young && p.err == nil && p.pause(ctx, settle); {
		begin := p.worked()
		var asking time.Duration
		asking, young = p.round(ctx)
		p.pause(ctx, min(restTimes*(p.worked()-begin+asking), longestRest))
	}
}

// round asks the nodes, and reads the new processes. It returns how long it waited for the nodes,
// and whether some processes are too young.
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
		if p.err != nil || !p.pause(ctx, freshness) { // or the nodes would not be asked again
			break
		}
	}
	p.view.log.Debug("processes are prepared", "count", count, "young", young)
	return asking, young
}

// due returns the processes to read, in the order in which readers read them, and whether there are
// others that are too young.
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

// clock is a moment, on the clocks in which the age of a process is known.
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

// Tick is the unit of start times (proc_pid_stat(5): USER_HZ, which is 100 on all supported
// architectures).
const Tick = time.Second / 100

// settled reports whether a process has lived for settle: by its start time on its node, or, as
// clocks can differ, by the time since it was first seen.
func (c clock) settled(p *process) bool {
	start, err := strconv.ParseInt(string(p.start), 10, 64)
	age := c.boot - time.Duration(start)*Tick
	return err == nil && age >= settle || c.unix-p.since > int64(settle/time.Second)
}

// look reads processes, and returns their number.
func (p *preparer) look(ctx context.Context, due []wire.PID) (count int) {
	for count < len(due) && p.err == nil {
		var used time.Duration
		// A thread for each spell of work: it has copies of descriptors that the others close.
		p.err = p.view.warmer.apart(func() error {
			for begin := p.worked(); count < len(due); {
				if err := p.lookInto(due[count]); err != nil {
					return err
				}
				count++
				if used = p.worked() - begin; used >= p.spell {
					break
				}
			}
			return nil
		})
		if used >= p.spell && !p.pause(ctx, min(idleTimes*used, longestGap)) {
			break
		}
	}
	p.view.warmer.failed(ctx, p.err)
	return count
}

// lookInto makes the kernel know a process. It leaves nothing open in the view, so that the view
// can be unmounted.
func (p *preparer) lookInto(pid wire.PID) error {
	w := p.view.warmer
	w.turn.Lock()
	defer w.turn.Unlock()
	if q := p.view.process(pid); q != nil {
		p.done[pid] = q.born
	}
	if p.view.scout == nil {
		return nil // only in tests
	}
	p.looks.Store(true)
	defer p.looks.Store(false)
	cold := p.view.cold(pid)
	return p.view.scout.Look(func() (wire.PID, bool) {
		defer func() { cold = false }()
		return pid, cold
	}, w.store)
}

// asks reports whether a request is the preparer's own. The preparer has asked the nodes itself.
func (p *preparer) asks(ctx context.Context) bool {
	return p.looks.Load() && p.view.scout.Is(caller(ctx))
}

// worked returns the processor time of the view's processes so far.
func (p *preparer) worked() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano()+used.Stime.Nano()) + p.view.scout.Worked()
}

// pause waits for a time, and reports whether the context lives on.
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

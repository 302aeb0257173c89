package life

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a node with runs, users, and time. Everything in it follows from the random numbers.
type world struct {
	t      *testing.T
	random *rand.Rand
	config Config
	p      *Process
	now    time.Time
	wake   time.Time
	hooks  map[uint64]bool // hooks that run or are about to
	began  map[uint64]bool // of them, those that run
	shot   map[uint64]bool // of these, those that got SIGKILL
	copies map[uint64]bool // existing processes
	wanted map[uint64]bool // launches that the node has not started yet
	stop   time.Time       // since when the process has been stopping
	log    []string
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

// step gives an input to the process, and to another one with the same record: a restarted daemon
// must behave the same.
func (w *world) step(in Input) {
	before := w.p.Record
	other := New(w.config, before)
	out := w.p.Step(w.now, in)
	w.log = append(w.log, fmt.Sprintf("%s %T%v in %v: %v", w.now.Format("15:04:05.000"), in, in, before.State, out))
	if again := other.Step(w.now, in); !slices.Equal(out, again) || other.Record != w.p.Record {
		w.fail("one with the same record does %v", again)
	}
	w.p = other
	events := 0
	for _, o := range out {
		if e, ok := o.(Changed); ok {
			events++
			w.changed(e, before.State)
		}
		w.do(o)
	}
	if changed := w.p.State != before.State; events > 1 || changed != (events == 1) {
		w.fail("%d events for %v -> %v", events, before.State, w.p.State)
	}
	if !w.p.Deadline.Equal(w.wake) {
		w.fail("the deadline is %v, the last Wake was for %v", w.p.Deadline, w.wake)
	}
	if there := len(w.hooks) + len(w.copies) + len(w.wanted); there > 1 {
		w.fail("two copies: hooks %v, processes %v, launches %v", w.hooks, w.copies, w.wanted)
	} else if w.p.State.Active() != (there == 1) {
		w.fail("%v, and there are hooks %v, processes %v, launches %v", w.p.State, w.hooks, w.copies, w.wanted)
	}
}

func (w *world) changed(e Changed, from State) {
	known := func(c cell) bool { return c.event == e.Name && c.to == e.To }
	ok := e.Name == "restarted" && from == Stopping && e.To == Starting
	for _, c := range table[from] {
		ok = ok || known(c)
	}
	if e.From != from || !ok {
		w.fail("no such transition: %v", e)
	}
	if e.To == Waiting {
		if wait := w.p.Deadline.Sub(w.now); wait < w.config.Rule.FirstDelay() || wait > w.config.Rule.LastDelay() {
			w.fail("the wait is %v", wait)
		}
		if w.config.Rule.When == No || from == Stopping {
			w.fail("nobody wants a restart")
		}
	}
	if e.To == Stopping {
		w.stop = w.now
	}
}

// do carries out an output of the process.
func (w *world) do(o Output) {
	switch o := o.(type) {
	case RunHook:
		w.hooks[o.Run] = true
	case KillHook:
		if !w.hooks[o.Run] {
			w.fail("there is no hook to kill")
		}
		w.shot[o.Run] = w.began[o.Run]
	case Launch:
		w.wanted[o.Run] = true
	case Send:
		if !w.copies[o.Run] {
			w.fail("a signal for a process that is not there")
		}
	case Wake:
		w.wake = o.At
	}
}

// one returns the only run of a set.
func one(runs map[uint64]bool) uint64 {
	for run := range runs {
		return run
	}
	return 0
}

func (w *world) exit() Exit {
	return []Exit{{}, {Code: 1}, {Signal: 9, Cause: OutOfMemory}, {Signal: 15}}[w.random.IntN(4)]
}

// node makes something happen on the node. Programs that got SIGKILL end soon.
func (w *world) node() {
	run := w.p.Run
	switch n := w.random.IntN(10); {
	case n == 0:
		clear(w.hooks)
		clear(w.copies)
		clear(w.wanted)
		w.step(NodeDown{run})
	case n == 1: // outdated reports
		w.step([]Input{Started{run - 1}, Ended{run - 1, w.exit()}, NodeDown{run - 1}, HookBegan{run - 1}, HookEnded{run - 1, w.exit()}}[w.random.IntN(5)])
	case len(w.hooks) > 0 && n < 6 && !w.began[run]:
		w.began[run] = true
		w.step(HookBegan{run})
	case len(w.hooks) > 0:
		run := one(w.hooks)
		delete(w.hooks, run)
		w.step(HookEnded{run, w.exit()})
	case len(w.wanted) > 0:
		run := one(w.wanted)
		delete(w.wanted, run)
		if n < 4 {
			w.step(NotStarted{run, w.exit()})
			return
		}
		w.copies[run] = true
		w.step(Started{run})
	case len(w.copies) > 0 && (n < 5 || w.p.Phase == killed):
		run := one(w.copies)
		delete(w.copies, run)
		w.step(Ended{run, w.exit()})
	}
}

// TestWalk checks that for inputs in any order there are never two copies, a stop ends, delays are
// bounded, and each transition has one event.
func TestWalk(t *testing.T) {
	states := map[State]int{}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &world{t: t, random: random, now: epoch, hooks: map[uint64]bool{}, began: map[uint64]bool{}, shot: map[uint64]bool{}, copies: map[uint64]bool{}, wanted: map[uint64]bool{}}
		w.config = Config{
			Hook: random.IntN(2) == 0, Interrupt: random.IntN(2) == 0, ShutdownTimeout: time.Duration(1+random.IntN(30)) * time.Second,
			Rule: Rule{When: []When{No, OnFailure, Always}[random.IntN(3)], Delay: time.Duration(random.IntN(5)) * time.Second, MaxDelay: time.Duration(random.IntN(60)) * time.Second},
		}
		w.p = New(w.config, Record{})
		for range 150 {
			w.now = w.now.Add(time.Duration(random.IntN(5000)) * time.Millisecond)
			switch n := random.IntN(12); {
			case n < 2:
				w.step(Start{})
			case n == 2:
				w.step(Stop{})
			case n == 3:
				w.step(Restart{})
			case n < 6 && !w.wake.IsZero():
				w.now = w.wake
				w.step(Due{})
			default:
				w.node()
			}
			states[w.p.State]++
		}
		w.end()
	}
	if len(states) != len(stateNames) {
		t.Errorf("only these states were reached: %v", states)
	}
}

// end stops the process for good. The process may ignore all signals but SIGKILL, so time alone
// must end it.
func (w *world) end() {
	w.step(Stop{})
	began := w.now
	for range 10 {
		if !w.p.State.Active() {
			break
		}
		switch {
		case len(w.hooks) > 0 && !w.began[w.p.Run]:
			w.began[w.p.Run] = true
			w.step(HookBegan{w.p.Run})
		case len(w.hooks) > 0 && w.shot[w.p.Run] || len(w.wanted) > 0 || w.p.Phase == killed:
			w.finish()
		case w.wake.IsZero():
			w.fail("stopping, and nothing will come: %+v", w.p.Record)
		default:
			w.now = w.wake
			w.step(Due{})
		}
	}
	if w.p.State.Active() || w.p.State == Waiting {
		w.fail("a stop does not end: %+v", w.p.Record)
	}
	if took := w.now.Sub(began); took > w.config.ShutdownTimeout+DumpTimeout {
		w.fail("a stop takes %v", took)
	}
}

// finish ends a program that must end, or begins a pending launch.
func (w *world) finish() {
	if run := one(w.wanted); run != 0 {
		delete(w.wanted, run)
		w.copies[run] = true
		w.step(Started{run})
		return
	}
	if run := one(w.hooks); run != 0 {
		delete(w.hooks, run)
		w.step(HookEnded{run, Exit{Signal: 9}})
		return
	}
	run := one(w.copies)
	delete(w.copies, run)
	w.step(Ended{run, Exit{Signal: 9}})
}

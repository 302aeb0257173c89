package slave

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/recording"
	"bproc/slave/core"
	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// state is the core with the objects that its outputs act on. A routine that has an input takes the
// lock, steps the core, and carries out the outputs; none of them blocks.
type state struct {
	log     *slog.Logger
	out     outlet
	journal *journal.Log
	hold    *hold
	space   commanded
	tracker *procevents.Tracker // locked by the routine that begins a session
	surely  chan struct{}       // wakes keepLease: init must kill all processes, or the space ends
	looks   chan core.LookForLate
	soon    *time.Timer // when News is due

	mu      sync.Mutex
	core    *core.Core
	ring    *recording.Ring                // recording of its inputs; nil: none
	started bool                           // set by the last input
	found   core.TakenOver                 // set by the last input
	callers map[uint64]chan<- *wire.Return // callers that wait for answers, by the number of the call
}

// commanded is what a state needs of a space.Space.
type commanded interface {
	KillAll() error
	Deadline(at time.Time) error
	SetParent(pid, parent wire.PID)
	Forget(pids ...wire.PID) error
	Resume(pid, parent, sid wire.PID)
	SignalOnce(m *wire.Signal) error
	Kill(pid wire.PID) error
}

// soon is how long marks of signals gather before they are reported together.
const soon = time.Millisecond

func newState(log *slog.Logger, out outlet, held *hold, sp commanded) *state {
	s := &state{
		log: log, out: out, hold: held, space: sp, surely: make(chan struct{}, 1), callers: map[uint64]chan<- *wire.Return{},
		looks: make(chan core.LookForLate, 1), // the core sends the next when one is answered
		soon:  time.NewTimer(soon),
	}
	s.soon.Stop()
	return s
}

// ringIn returns the recording of a core's inputs in a directory; nil: none is wanted.
func ringIn(dir string, log *slog.Logger) (*recording.Ring, error) {
	if dir == "" {
		return nil, nil
	}
	ring, err := recording.NewRing(dir, func(err error) { log.Warn("inputs are not recorded any more", "err", err) })
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return ring, nil
}

// begin creates the core from the content of the journal.
func (s *state) begin(log *journal.Log) error {
	cfg := core.Config{Confirmed: log.Confirmed()}
	err := log.Replay(func(kind uint32, payload []byte) error {
		cfg.Journal = append(cfg.Journal, core.Record{Kind: kind, Payload: slices.Clone(payload)})
		return nil
	})
	if err != nil {
		return err
	}
	s.journal = log
	s.ring.Begin(time.Now(), cfg)
	s.core, err = core.New(cfg)
	return err
}

// step gives the core an input and carries out the outputs.
func (s *state) step(in core.Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepLocked(in)
}

func (s *state) stepLocked(in core.Input) {
	now := time.Now()
	s.ring.Input(now, in)
	for _, o := range s.core.Step(now, in) {
		if next := s.performLocked(o); next != nil {
			s.stepLocked(next)
		}
	}
}

// look calls a function with the core, which must not change it.
func (s *state) look(look func(*core.Core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(s.core)
}

// performLocked carries out an output. It returns the input that follows from it at once, or nil.
func (s *state) performLocked(o core.Output) core.Input {
	switch o := o.(type) {
	case core.OpenSession:
		s.out.Open()
	case core.ToMaster:
		return s.toMaster(o)
	case core.Renumber:
		s.tracker.Renumber(o.Again)
	case core.Start:
		s.tracker.Launching(o.Process)
		s.started = true
	case core.TakenOver:
		s.found = o
	case core.LookForLate:
		s.looks <- o
	case core.Soon:
		s.soon.Reset(soon)
	case core.Returned:
		if caller := s.callers[o.Number]; caller != nil {
			delete(s.callers, o.Number)
			caller <- o.Return
		}
	case core.Append:
		return s.appendLocked(o)
	case core.Rewrite:
		if err := s.journal.Rewrite(func(add appender) error { return addAll(add, o.Records) }); err != nil {
			s.notJournaled(err)
			return nil
		}
		return core.JournalRewritten{}
	case core.Confirm:
		s.journal.Confirm(o.Count)
	case core.Log:
		levels[o.Level](s.log, o.Text, o.Args...)
	default:
		s.performOnSpace(o)
	}
	return nil
}

var levels = map[core.Level]func(*slog.Logger, string, ...any){
	core.Debug: (*slog.Logger).Debug, core.Info: (*slog.Logger).Info, core.Warning: (*slog.Logger).Warn, core.Error: (*slog.Logger).Error,
}

// toMaster sends a message. A call that cannot be encoded gets EINVAL, as one that the front end
// does not know.
func (s *state) toMaster(o core.ToMaster) core.Input {
	err := s.out.request(o.Number, o.Message)
	if err == nil {
		return nil
	}
	s.log.Error("a message to the master could not be sent", "msg", o.Message.Type(), "err", err)
	if _, is := o.Message.(*wire.Call); is {
		return core.FromMaster{Number: o.Number, Message: &wire.Return{Errno: uint32(unix.EINVAL)}}
	}
	return nil
}

type appender = func(kind uint32, payload ...[]byte) error

func addAll(add appender, records []core.Record) error {
	for _, r := range records {
		if err := add(r.Kind, r.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) appendLocked(o core.Append) core.Input {
	if err := addAll(s.journal.Append, o.Records); err != nil {
		s.notJournaled(err)
		return nil
	}
	s.journal.Commit() // the journal may fail to be written anew
	if s.journal.BeginRewrite() {
		return core.JournalGrown{}
	}
	return nil
}

func (s *state) notJournaled(err error) {
	s.log.Error("should this daemon die, the next cannot tell the front end all that happened", "err", err)
}

// performOnSpace carries out an output that concerns the process space.
func (s *state) performOnSpace(o core.Output) {
	switch o := o.(type) {
	case core.Hold:
		if err := s.hold.take(); err != nil {
			s.log.Error("processes could not be held", "err", err)
		}
	case core.LetGo:
		if err := s.hold.release(); err != nil {
			s.log.Error("processes could not be let go on", "err", err)
		}
	case core.KillAll:
		s.killAll(o)
	case core.Deadline:
		if err := s.space.Deadline(o.At); err != nil {
			s.log.Error("init does not know when the lease ends", "err", err)
		}
	case core.Resume:
		s.space.Resume(o.PID, o.Parent, o.Began)
	case core.Give:
		if err := s.space.SignalOnce(o.Signal); err != nil {
			s.log.Error("a signal could not be given", "pid", o.Signal.PID, "err", err)
		}
	case core.Kill:
		if err := s.space.Kill(o.PID); err != nil {
			s.log.Error("a process could not be killed", "pid", o.PID, "err", err)
		}
	case core.SetParent:
		s.space.SetParent(o.PID, o.Parent)
	case core.Forget:
		if err := s.space.Forget(o.PIDs...); err != nil {
			s.log.Error("init could not be told which ends the front end knows", "err", err)
		}
	}
}

func (s *state) killAll(o core.KillAll) {
	if err := s.space.KillAll(); err != nil {
		s.log.Error("processes could not be killed", "err", err)
	}
	if o.Surely {
		select {
		case s.surely <- struct{}{}:
		default:
		}
	}
}

// run gives the core News when it is due, until the context ends.
func (s *state) run(ctx context.Context) error {
	defer s.soon.Stop()
	for {
		select {
		case <-s.soon.C:
			s.step(core.News{})
		case <-ctx.Done():
			return nil
		}
	}
}

// launch enters a process that the front end asks for in a session. It reports whether init must be
// asked for it.
func (s *state) launch(session core.Session, spawn *wire.Spawn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = false
	s.stepLocked(core.Launch{Session: session, Spawn: spawn})
	return s.started
}

// takeOver tells the core what init has of a former daemon.
func (s *state) takeOver(in core.Found) core.TakenOver {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepLocked(in)
	return s.found
}

// holdBack returns how long births must be held back now.
func (s *state) holdBack() (hold time.Duration) {
	s.look(func(c *core.Core) { hold = c.HoldBack() })
	return hold
}

// known returns the processes that the front end knows, or will know from what was reported to it.
func (s *state) known() (known map[wire.PID]core.Known) {
	s.look(func(c *core.Core) { known = c.Known() })
	return known
}

// call has the front end carry out a call with a unique number, and waits for the answer. Events
// from before the call must have been reported.
func (s *state) call(ctx context.Context, number uint64, call *wire.Call) (*wire.Return, error) {
	answer := make(chan *wire.Return, 1)
	s.mu.Lock()
	s.callers[number] = answer
	s.stepLocked(core.Call{Number: number, Call: call})
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.callers, number)
		s.stepLocked(core.CallLeft{Number: number})
	}()
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

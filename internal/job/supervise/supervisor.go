package supervise

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/file"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
	"bproc/internal/procstat"
)

// Supervisor supervises one process of a job. All fields are set before Run.
type Supervisor struct {
	Client  *client.Client
	Place   place.Process
	Process file.Process
	Nodes   string // nodes on which it may run
	Caller  uint32 // the user who has asked for it
	Spec    spec.Spec
	Jailer  string // path of bpjail on nodes
	Copier  string // path of bpcp on the front end

	// For a process in the foreground: further destinations of its outputs. It has no PID file.
	Foreground     bool
	Stdout, Stderr io.Writer

	// Changed, if not nil, is called for each new state.
	Changed func(place.Record)

	life   *life.Process
	record place.Record
	home   *place.Home // of the current run, once it has a node
	logs   *logs
	sender *sender                 // of the last signal
	giveUp context.CancelCauseFunc // of the work on files
	told   chan told
	tasks  sync.WaitGroup
	wake   *time.Timer

	unsaved <-chan time.Time // when to store the record again after a failure
}

// told is a report of a goroutine to Run. Zero fields change nothing.
type told struct {
	in     life.Input
	pid    client.PID
	node   *client.NodeID
	home   *place.Home
	left   bool // processes may be left on the node
	reason string
}

// Request is a request to a running supervisor.
type Request = life.Input

// Run starts the process and supervises it until it has ended for good. It returns the final
// record; none if it has not begun.
func (s *Supervisor) Run(ctx context.Context, requests <-chan Request) (place.Record, error) {
	former, err := s.Place.Former()
	if err != nil {
		return place.Record{}, err
	}
	if s.logs, err = openLogs(s); err != nil {
		return place.Record{}, err
	}
	defer s.logs.close()
	s.begin(former)
	if err := s.announce(); err != nil { // nothing begins that the record does not tell
		return place.Record{}, err
	}
	defer s.tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.step(ctx, told{in: life.Start{}})
	for s.life.State.Active() || s.life.State == life.Waiting {
		select {
		case t := <-s.told:
			s.step(ctx, t)
		case in := <-requests:
			s.step(ctx, told{in: in})
		case <-s.wake.C:
			s.step(ctx, told{in: life.Due{}})
		case <-s.unsaved:
			s.keep()
		case <-s.logs.failed:
			s.keep()
		}
	}
	return s.record, s.logs.err()
}

// begin initializes the supervisor from the record of former runs, none of which has a supervisor
// any more.
func (s *Supervisor) begin(former place.Record) {
	s.told = make(chan told)
	s.sender = noSender()
	s.wake = time.NewTimer(time.Hour)
	s.wake.Stop()
	p := &s.Process
	rule := p.Restart
	if s.Foreground {
		rule = life.Rule{}
	}
	s.life = life.New(life.Config{
		Hook: p.Hooks.PreStart != "", Interrupt: p.ShutdownSignal == file.INT, ShutdownTimeout: p.ShutdownTimeout, Rule: rule,
	}, life.Record{State: life.Created, Run: former.Run})
	s.record = place.Record{
		Node: former.Node, Placed: former.Placed, Left: former.Left, NoPIDFile: s.Foreground,
		Supervisor: os.Getpid(), Born: place.Born(os.Getpid()), UID: s.Spec.UID, Caller: s.Caller,
		Boot: procstat.BootID(),
	}
}

// announce stores the record of the first run, which is about to start.
func (s *Supervisor) announce() error {
	s.record.Record = life.Record{State: life.Starting, Run: s.life.Run + 1, Since: time.Now()}
	return s.Place.Write(s.record)
}

// step handles an input and carries out the resulting actions.
func (s *Supervisor) step(ctx context.Context, t told) {
	if t.reason != "" {
		s.record.Reason = t.reason
	}
	if t.pid != 0 {
		s.record.PID = t.pid
	}
	if t.node != nil {
		s.record.Node, s.record.Placed = *t.node, true
	}
	s.record.Left = s.record.Left || t.left
	if t.home != nil {
		s.home = t.home
		s.keep() // if this supervisor is killed, the record tells where processes may be left
	}
	if t.in == nil {
		return
	}
	for _, out := range s.life.Step(time.Now(), t.in) {
		s.do(ctx, out)
	}
}

func (s *Supervisor) do(ctx context.Context, out life.Output) {
	switch o := out.(type) {
	case life.RunHook:
		files, former, signalled := s.files(ctx), s.record, s.sender.done
		s.spawn(func() told {
			<-signalled
			return s.runHook(ctx, files, o.Run, former)
		})
	case life.KillHook:
		if s.home != nil { // otherwise it is on no node yet
			s.send(ctx, int(unix.SIGKILL))
		}
	case life.Launch:
		files, former, hooked, signalled := s.files(ctx), s.record, s.home != nil, s.sender.done
		s.spawn(func() told {
			<-signalled
			return s.launch(ctx, files, o.Run, former, hooked)
		})
	case life.Send:
		s.send(ctx, o.Signal)
	case life.Wake:
		s.wake.Stop()
		if !o.At.IsZero() {
			s.wake.Reset(time.Until(o.At))
		}
	case life.Changed:
		s.changed(o)
	case life.Already: // no effect
	}
}

// errStopped ends the work on the files of a process that is asked to end.
var errStopped = errors.New("it was stopped")

// files returns a context for work on the files of the job. The work before has ended.
func (s *Supervisor) files(ctx context.Context) context.Context {
	if s.giveUp != nil {
		s.giveUp(nil)
	}
	ctx, s.giveUp = context.WithCancelCause(ctx)
	return ctx
}

// changed records and reports the event of a transition.
func (s *Supervisor) changed(o life.Changed) {
	if o.To == life.Starting {
		s.record.Reason = ""
	}
	if o.To == life.Stopping {
		s.giveUp(errStopped)
	}
	if !o.To.Active() || o.To == life.Starting { // the last run is over
		s.record.PID = 0
		s.sender.stop()
		if s.home != nil {
			_ = s.home.Close() // an error makes no difference
			s.home = nil
		}
	}
	if o.To == life.Running {
		s.record.Left = false
	}
	s.record.Record = s.life.Record
	s.record.State, s.record.Run, s.record.Exit, s.record.Since = o.To, o.Run, o.Exit, o.At
	s.keep()
	e := event{
		Time: o.At, Event: o.Name, Process: s.Process.Name, From: o.From.String(), To: o.To.String(), Run: o.Run,
		PID: s.record.PID, Exit: exitOf(o), Reason: s.record.Reason,
	}
	if s.record.Placed {
		e.Node = &s.record.Node
	}
	s.logs.event(e)
	if s.Changed != nil {
		s.Changed(s.record)
	}
}

// keep stores the record of the process. It is repeated until it succeeds or the supervisor ends.
func (s *Supervisor) keep() {
	s.unsaved = nil
	s.record.Trouble = s.logs.trouble()
	if err := s.Place.Write(s.record); err != nil {
		s.logs.fail(err)
		s.unsaved = time.After(tryAgain)
	}
}

func exitOf(o life.Changed) string {
	if o.To.Active() || o.Run == 0 {
		return ""
	}
	return o.Exit.String()
}

// spawn runs a task. Its result goes to Run, unless it has no input.
func (s *Supervisor) spawn(task func() told) {
	s.tasks.Go(func() {
		if t := task(); t.in != nil {
			s.told <- t
		}
	})
}

package bpsh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// codeTimedOut is the exit code of a command that ran too long, as in timeout(1).
const codeTimedOut = 124

// grace is the time from SIGTERM to SIGKILL, and parting the time to wait for output after SIGKILL.
const (
	grace   = 5 * time.Second
	parting = time.Second
)

// ending ends commands early: each command that runs too long (--timeout), and all commands when
// one has failed (--fail-fast). Their descendants end with them.
type ending struct {
	limit    time.Duration // 0: none
	failFast bool
	once     sync.Once
	failed   chan struct{} // closed at the first failure
	first    *job          // the command that failed
	giveUp   *time.Timer   // gives up starts under way
	listing  listing
}

// Reasons to end a command, or not to start it.
var (
	errTimedOut = errors.New("timed out")
	errOther    = errors.New("another command failed")
)

// skips reports whether commands are no longer started.
func (e *ending) skips() bool {
	select {
	case <-e.failed:
		return true
	default:
		return false
	}
}

// within bounds the time of a command's start.
func (e *ending) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, e.limit, errTimedOut)
}

// oversee ends a started command when its time is up or another one has failed. When the command
// has ended, the caller calls settle, which returns the reason, if oversee ended it.
func (e *ending) oversee(ctx context.Context, j *job) (settle func() error) {
	if e.limit == 0 && !e.failFast {
		return func() error { return nil }
	}
	var late <-chan time.Time
	if e.limit != 0 {
		late = time.After(time.Until(j.began.Add(e.limit)))
	}
	ended, done := make(chan struct{}), make(chan struct{})
	var cause error
	go func() {
		defer close(done)
		select {
		case <-ended:
			return
		case <-e.failed:
			cause = errOther
		case <-late:
			cause = errTimedOut
		}
		j.end(context.WithoutCancel(ctx), &e.listing, ended)
	}()
	return func() error {
		close(ended)
		<-done
		return cause
	}
}

// end ends a command and its descendants.
func (j *job) end(ctx context.Context, from *listing, ended <-chan struct{}) {
	t := newTree(ctx, j.cmd.PID, j.cmd.Node, from)
	signal := func(sig unix.Signal) { t.signal(ctx, sig) }
	if len(t.members) == 0 { // it has ended, or its node does not answer
		signal = func(sig unix.Signal) { _ = j.cmd.Signal(sig) }
	}
	signal(unix.SIGTERM)
	if within(grace, ended) {
		return
	}
	signal(unix.SIGKILL)
	if within(parting, ended) {
		return
	}
	j.cmd.Leave() // a process that is not a descendant holds its outputs open
}

func within(d time.Duration, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d):
		return false
	}
}

// fail records that a command has failed. With --fail-fast, the first failure ends the other
// commands.
func (s *session) fail(j *job) {
	if !s.ending.failFast {
		return
	}
	s.ending.once.Do(func() {
		s.ending.first = j
		if len(s.jobs) > 1 {
			s.shell.Say(fmt.Errorf("node %d: %s; the other commands are ended", j.cmd.Node, j.outcome()))
		}
		// Giving up a start may leave descendants on the node. So starts go on for a while, and
		// their commands are ended afterwards.
		s.ending.giveUp = time.AfterFunc(grace, func() { s.cancel(errOther) })
		close(s.ending.failed)
	})
}

// settle releases timers and looks after all commands have ended.
func (e *ending) settle() {
	if e.giveUp != nil {
		e.giveUp.Stop()
	}
	e.listing.afar.close()
}

// timedOut reports that a command ran too long, and returns its exit code.
func (s *session) timedOut(j *job) int {
	j.timedOut = true
	if !s.json {
		s.shell.Say(fmt.Errorf("node %d: timed out after %v", j.cmd.Node, s.ending.limit))
	}
	return codeTimedOut
}

// outcome says how a job ended.
func (j *job) outcome() string {
	if sig, ok := j.status.Signaled(); ok && j.code == j.status.ExitCode() {
		return "ended by " + signalName(sig)
	}
	return fmt.Sprintf("exit status %d", j.code)
}

// firstRealTime is the first real-time signal for programs: the C library reserves those before it.
const firstRealTime = 34

// signalName returns the name of a signal; real-time signals are named as in signal(7).
func signalName(sig int) string {
	if name := unix.SignalName(unix.Signal(sig)); name != "" {
		return name
	}
	return fmt.Sprintf("SIGRTMIN%+d", sig-firstRealTime)
}

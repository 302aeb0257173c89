package bpsh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// codeTimedOut is the exit code of a command that took too long, as with timeout(1).
const codeTimedOut = 124

// grace is how long a command that is ended has from SIGTERM to SIGKILL, and parting how
// long its output is waited for after that.
const (
	grace   = 5 * time.Second
	parting = time.Second
)

// ending ends commands before their time: each that takes too long (--timeout), and all when
// one has failed (--fail-fast). Their descendants end with them.
type ending struct {
	limit    time.Duration // 0: none
	failFast bool
	once     sync.Once
	failed   chan struct{} // closed at the first failure
	first    *job          // the command that failed
	giveUp   *time.Timer   // when starts under way are given up
	listing  listing
}

// The causes for which a command is ended or not started.
var (
	errTimedOut = errors.New("timed out")
	errOther    = errors.New("another command failed")
)

// skips reports whether a command that is not started yet is not to be.
func (e *ending) skips() bool {
	select {
	case <-e.failed:
		return true
	default:
		return false
	}
}

// within bounds the start of a command.
func (e *ending) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, e.limit, errTimedOut)
}

// oversee ends a command that has been started when its time has come. The caller calls
// settle when it has ended, which returns the cause, if there was one.
func (e *ending) oversee(ctx context.Context, j *job, began time.Time) (settle func() error) {
	if e.limit == 0 && !e.failFast {
		return func() error { return nil }
	}
	var late <-chan time.Time
	if e.limit != 0 {
		late = time.After(time.Until(began.Add(e.limit)))
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
	j.cmd.Leave() // a process that is no descendant has its outputs open
}

func within(d time.Duration, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d):
		return false
	}
}

// fail takes in that a command has failed. With --fail-fast, the first to do so ends the others.
func (s *session) fail(j *job) {
	if !s.ending.failFast {
		return
	}
	s.ending.once.Do(func() {
		s.ending.first = j
		if len(s.jobs) > 1 {
			s.shell.Say(fmt.Errorf("node %d: %s; the other commands are ended", j.cmd.Node, j.outcome()))
		}
		// A start that is given up can leave descendants on its node, so it goes on for a
		// while, and the command is ended then.
		s.ending.giveUp = time.AfterFunc(grace, func() { s.cancel(errOther) })
		close(s.ending.failed)
	})
}

// settle ends what is left of it when all commands have ended.
func (e *ending) settle() {
	if e.giveUp != nil {
		e.giveUp.Stop()
	}
	e.listing.afar.close()
}

// timedOut says that a command took too long, and returns its exit code.
func (s *session) timedOut(j *job) int {
	j.timedOut = true
	if !s.json {
		s.shell.Say(fmt.Errorf("node %d: timed out after %v", j.cmd.Node, s.ending.limit))
	}
	return codeTimedOut
}

// outcome says how a job has ended.
func (j *job) outcome() string {
	if sig, ok := j.status.Signaled(); ok && j.code == j.status.ExitCode() {
		return "ended by " + signalName(sig)
	}
	return fmt.Sprintf("exit status %d", j.code)
}

// firstRealTime is the first real-time signal of programs: the C library has those before it.
const firstRealTime = 34

// signalName returns the name of a signal, with that of a real-time signal as signal(7) has it.
func signalName(sig int) string {
	if name := unix.SignalName(unix.Signal(sig)); name != "" {
		return name
	}
	return fmt.Sprintf("SIGRTMIN%+d", sig-firstRealTime)
}

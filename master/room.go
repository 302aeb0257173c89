package master

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"bproc/wire"
)

// Bounds on the bytes that a node can have the front end keep.
const (
	// maxTurnBytes is of the messages that wait for the core, on the wire: each byte costs a
	// few in memory.
	maxTurnBytes = wire.MaxCommand

	// largeMessage is how long a message is after which memory is given back.
	largeMessage = 64 << 10

	// maxEarlyBytes is of what a node says before all is told again.
	maxEarlyBytes = 16 << 20

	// maxArgv is of a command line that a ghost gets. A node tells no more than 64 KiB.
	maxArgv = 128 << 10

	// maxArgvs is of command lines that the keeper has yet to give to ghosts, of one node;
	// maxAllArgvs is of all. The outbox to the keeper has room for more (outbox.Bound). A
	// ghost for whose command line there is no room gets the name of its program alone.
	maxArgvs    = 4 << 20
	maxAllArgvs = 16 << 20

	// maxArgvsAgain is of command lines among what a node tells again, in memory.
	maxArgvsAgain = 32 << 20
)

// admitter has the messages of a node take turns, by their bytes.
type admitter struct {
	room  *semaphore.Weighted
	taken int64 // by the message that was read last
}

func newAdmitter() *admitter { return &admitter{room: semaphore.NewWeighted(maxTurnBytes)} }

// admit waits until there is room for a message, before it is read.
func (a *admitter) admit(ctx context.Context, bytes int) error {
	if err := a.room.Acquire(ctx, int64(bytes)); err != nil {
		return context.Cause(ctx)
	}
	a.taken = int64(bytes)
	return nil
}

// handled returns what gives back the room of the message that was read last.
func (a *admitter) handled() func() {
	taken := a.taken
	return func() { a.room.Release(taken) }
}

// argvs are the bytes of command lines that wait for the keeper. The core is their owner.
type argvs struct{ all int }

// exec is the request that gives a ghost what its process executes, as far as there is
// room. done is to be called when it is answered.
func (a *argvs) exec(s *session, p *proc, e *wire.Event) (m *wire.GhostExec, done func()) {
	m = &wire.GhostExec{PID: p.pid, Argv: cutArgv(e.Argv, maxArgv), Comm: cutText(e.Comm, maxComm)}
	bytes := sizeOf(m.Argv)
	if s.argvs+bytes > maxArgvs || a.all+bytes > maxAllArgvs {
		m.Argv = cutArgv(m.Argv[:min(len(m.Argv), 1)], maxPath)
		bytes = sizeOf(m.Argv)
	}
	s.argvs, a.all = s.argvs+bytes, a.all+bytes
	return m, func() { s.argvs, a.all = s.argvs-bytes, a.all-bytes }
}

// Names are as long as the kernel lets them be.
const (
	maxComm = 64
	maxPath = 4096
)

// sizeOf returns how long a command line is.
func sizeOf(argv []string) int {
	bytes := 0
	for _, arg := range argv {
		bytes += len(arg) + 1
	}
	return bytes
}

// memoryOf returns what it takes to keep a command line, which may have many empty arguments.
func memoryOf(argv []string) int { return sizeOf(argv) + len(argv)*stringHeader }

const stringHeader = 16 // bytes, beside those of the text

// cutArgv returns the begin of a command line.
func cutArgv(argv []string, most int) []string {
	for i, arg := range argv {
		switch {
		case most <= 0:
			return argv[:i]
		case len(arg)+1 > most:
			return append(argv[:i:i], cutText(arg, most-1))
		}
		most -= len(arg) + 1
	}
	return argv
}

func cutText(text string, most int) string { return text[:min(len(text), most)] }

// retelling reads what a node tells again, and counts what that takes.
type retelling struct {
	*wire.Reader
	bytes int // of the last message
	kept  int // of messages that have come in between
	argvs int // of command lines
}

func newRetelling(r *wire.Reader) *retelling {
	t := &retelling{Reader: r}
	r.Admit(func(bytes int) error { t.bytes = bytes; return nil })
	return t
}

// keep takes in a message that has come in between.
func (t *retelling) keep() error {
	if t.kept += t.bytes; t.kept > maxEarlyBytes {
		return fmt.Errorf("%w: %d bytes before all is told again", errUnexpected, t.kept)
	}
	return nil
}

// trim leaves out of events the command lines for which there is no room. Ghosts have
// others, or show others' for a while.
func (t *retelling) trim(events []wire.Event) []wire.Event {
	for i := range events {
		e := &events[i]
		e.Argv = cutArgv(e.Argv, maxArgv)
		if t.argvs += memoryOf(e.Argv); t.argvs > maxArgvsAgain {
			e.Argv = nil
		}
	}
	return events
}

package master

import (
	"fmt"

	"bproc/master/core"
	"bproc/wire"
)

// Bounds on what the front end keeps for a node before the node is part of the cluster.
const (
	maxAgain      = 1 << 18  // events
	maxEarly      = 40_000   // messages in between
	maxEarlyBytes = 16 << 20 // bytes of those
	maxArgvsAgain = 32 << 20 // bytes of command lines among the events, in memory
)

// largeMessage is the length of a node's message, in bytes, after which memory is given back.
const largeMessage = 64 << 10

// retelling reads the events that a node reports again, and counts what they take.
type retelling struct {
	*wire.Reader
	bytes int // of the last message
	kept  int // bytes of messages that came in between
	argvs int // bytes of command lines
}

func newRetelling(r *wire.Reader) *retelling {
	t := &retelling{Reader: r}
	r.Admit(func(bytes int) error { t.bytes = bytes; return nil })
	return t
}

// early is a message that came before the last event that is reported again.
type early struct {
	number uint64
	msg    wire.Message
}

// read reads the events that a node reports again, and the messages in between.
func (t *retelling) read(events uint64) (again []wire.Event, between []early, err error) {
	if events > maxAgain {
		return nil, nil, core.ErrOrder
	}
	for uint64(len(again)) < events {
		m, number, err := t.Read()
		if err != nil {
			return nil, nil, err
		}
		told, ok := m.(*wire.Events)
		switch {
		case !ok && len(between) < maxEarly:
			if call, is := m.(*wire.Call); is {
				t.kept += numberSize * len(call.Args)
			}
			if t.kept += t.bytes; t.kept > maxEarlyBytes {
				return nil, nil, fmt.Errorf("%w: %d bytes before all is told again", core.ErrUnexpected, t.kept)
			}
			between = append(between, early{number, m})
			continue
		case !ok:
			return nil, nil, core.ErrUnexpected
		case told.First != uint64(len(again))+1:
			return nil, nil, core.ErrOrder
		}
		n := min(int(events)-len(again), len(told.Events))
		again = append(again, t.trim(told.Events[:n])...)
		if n < len(told.Events) {
			between = append(between, early{0, &wire.Events{First: events + 1, Events: told.Events[n:]}})
		}
	}
	return again, between, nil
}

// trim removes from events the command lines for which there is no room. Their ghosts have others,
// or show others' for a while.
func (t *retelling) trim(events []wire.Event) []wire.Event {
	for i := range events {
		e := &events[i]
		e.Argv = core.CutArgv(e.Argv, core.MaxArgv)
		if t.argvs += memoryOf(e.Argv); t.argvs > maxArgvsAgain {
			e.Argv = nil
		}
	}
	return events
}

// memoryOf returns the memory that a command line takes, which may have many empty arguments.
func memoryOf(argv []string) int { return core.SizeOf(argv) + len(argv)*stringHeader }

// Bytes in memory.
const (
	stringHeader = 16 // besides those of the text
	numberSize   = 8
)

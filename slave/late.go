package slave

import (
	"context"
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// late gives signals for process groups to those who were born too late to have a
// ghost when the signal was sent on the front end.
//
// Who is known to be late when the signal comes gets it together with the ancestor
// that had a ghost. SIGKILL is also given to whoever is born until it has arrived:
// what is killed does not fork any more, so in the end nobody has escaped. For other
// signals that would be wrong: a process that has received one may well go on, and
// then has children whom it is not for.
type late struct {
	of     func(pid wire.PID, seen uint64) []wire.PID
	signal func(pid wire.PID, info []byte, seq uint64) error
	sync   func(context.Context) error // returns when signals have arrived
	wake   chan struct{}

	mu    sync.Mutex
	chase []pursuit
}

// pursuit is a SIGKILL that has not reached all whom it is for.
type pursuit struct {
	m      *wire.Signal
	rounds int
	had    map[wire.PID]bool // who got it
}

// Bounds on pursuits: each round's victims are children of the round before.
const (
	maxPursuits = 10_000
	maxRounds   = 16
)

// give gives a signal to its process and all that are late.
func (l *late) give(m *wire.Signal) error {
	if !m.Group {
		return l.signal(m.PID, m.Info, m.Seq)
	}
	p := pursuit{m: m, had: make(map[wire.PID]bool)}
	if _, err := l.round(&p); err != nil {
		return err
	}
	if err := l.signal(m.PID, m.Info, m.Seq); err != nil {
		return err
	}
	if len(m.Info) >= 4 && unix.Signal(binary.LittleEndian.Uint32(m.Info)) == unix.SIGKILL {
		l.add(p)
	}
	return nil
}

// round gives the signal to those who are late and have not had it.
func (l *late) round(p *pursuit) (found bool, err error) {
	for _, pid := range l.of(p.m.PID, p.m.Seen) {
		if p.had[pid] {
			continue
		}
		p.had[pid], found = true, true
		if err := l.signal(pid, p.m.Info, 0); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (l *late) add(p pursuit) {
	l.mu.Lock()
	if len(l.chase) < maxPursuits {
		l.chase = append(l.chase, p)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run goes after those who are born while SIGKILL is on its way.
func (l *late) run(ctx context.Context) error {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		l.mu.Lock()
		chase := l.chase
		l.chase = nil
		l.mu.Unlock()
		if err := l.sync(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, p := range chase {
			found, err := l.round(&p)
			if err != nil {
				return err
			}
			if p.rounds++; found && p.rounds < maxRounds {
				l.add(p)
			}
		}
	}
}

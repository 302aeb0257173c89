package slave

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// late gives signals for process groups to those who were born too late to have a
// ghost when the signal was sent on the front end.
//
// Who is known to be late when the signal comes gets it together with the ancestor
// that had a ghost. SIGKILL comes with the number of a process whose ghost could not
// be made, and is given to whoever is born until it has arrived: what is killed does
// not fork any more. Some fork and end faster than they can be killed one by one, so
// all are held for that. For other signals that would be wrong: a process that has
// received one may well go on, and then has children whom it is not for.
type late struct {
	meant  func(pid wire.PID, seen uint64) bool               // whether a number was not another's at an event
	of     func(pid wire.PID, seen uint64) []wire.PID         // who missed a signal
	from   func(pid wire.PID, birth uint64) []procevents.Born // who descends from a process without a ghost, and it
	signal func(pid wire.PID, info []byte) error
	once   func(*wire.Signal) error // a signal that has a number
	hold   func() (all bool, err error)
	let    func() error
	kill   func(pid wire.PID) error // one that is held
	wake   chan struct{}

	mu    sync.Mutex
	chase []*pursuit
}

// pursuit is a SIGKILL that has not reached all whom it is for.
type pursuit struct {
	m      *wire.Signal
	rounds int
	had    map[procevents.Born]bool // who got it
}

// Bounds on pursuits. One round is enough if all were held; what could not be, may
// have been about to fork.
const (
	maxPursuits = 10_000
	maxRounds   = 16
)

// give gives a signal to its process and all that are late. The front end can be so far
// behind that the process has ended and its number is another's.
func (l *late) give(m *wire.Signal) error {
	if !m.Group {
		if !l.meant(m.PID, m.Seen) {
			return nil
		}
		return l.once(m)
	}
	if len(m.Info) >= 4 && unix.Signal(binary.LittleEndian.Uint32(m.Info)) == unix.SIGKILL {
		l.add(&pursuit{m: m, had: make(map[procevents.Born]bool)})
		return nil
	}
	for _, pid := range l.of(m.PID, m.Seen) {
		if err := l.signal(pid, m.Info); err != nil {
			return err
		}
	}
	if !l.meant(m.PID, m.Seen) {
		return nil
	}
	return l.once(m)
}

func (l *late) add(p *pursuit) {
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
		chase = slices.DeleteFunc(chase, func(p *pursuit) bool { return len(l.missed(p)) == 0 })
		if len(chase) == 0 {
			continue
		}
		if err := l.catch(chase); err != nil {
			return err
		}
	}
}

// missed returns those who are late and have not had the signal.
func (l *late) missed(p *pursuit) []procevents.Born {
	return slices.DeleteFunc(l.from(p.m.PID, p.m.Seen+1), func(b procevents.Born) bool { return p.had[b] })
}

// catch kills those whom the pursuits are after, with all processes held. Where
// somebody may yet have been born, the pursuit goes on.
func (l *late) catch(chase []*pursuit) error {
	all, err := l.hold()
	killed := make(map[procevents.Born]bool)
	for _, p := range chase {
		for _, born := range l.missed(p) {
			p.had[born] = true
			if !killed[born] {
				killed[born] = true
				err = errors.Join(err, l.kill(born.PID))
			}
		}
		if p.rounds++; !all && p.rounds < maxRounds {
			l.add(p)
		}
	}
	return errors.Join(err, l.let())
}

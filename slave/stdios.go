package slave

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"bproc/slave/journal"
	"bproc/wire"
)

// stdios are the standard descriptors of all processes.
type stdios struct {
	journal *journal.Journal
	stamp   func() uint64
	keep    func(name string, files ...*os.File) error // open, for the next daemon
	drop    func(name string)                          // and not any more
	work    sync.WaitGroup                             // all that is at work on descriptors

	mu      sync.Mutex
	all     map[wire.PID]*stdio
	begun   time.Time // of the session; zero: there is none
	leaving bool      // the node is
}

// enter makes and enters the descriptors of a process. One of that number that has
// ended is given up.
func (s *stdios) enter(spawn *wire.Spawn) (*stdio, error) {
	d, err := s.newStdio(spawn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	before := s.all[d.pid]
	if s.all == nil {
		s.all = make(map[wire.PID]*stdio)
	}
	s.all[d.pid] = d
	d.leaving = s.leaving
	s.mu.Unlock()
	if before != nil {
		before.close()
	}
	return d, nil
}

// forget is for descriptors on which nothing is at work any more.
func (s *stdios) forget(d *stdio) {
	s.mu.Lock()
	if s.all[d.pid] == d {
		delete(s.all, d.pid)
	}
	s.mu.Unlock()
	d.slot.Release()
}

func (s *stdios) find(pid wire.PID) *stdio {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[pid]
}

// of returns the descriptors of a process for the client that has started it, or root.
func (s *stdios) of(m *wire.Resume) (*stdio, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.all[m.PID]
	switch {
	case s.leaving:
		return nil, errLeaving
	case d == nil || d.launch != m.Launch || m.UID != 0 && m.UID != d.uid:
		return nil, errNoProcess
	}
	return d, nil
}

func (s *stdios) each(f func(*stdio)) {
	s.mu.Lock()
	all := make([]*stdio, 0, len(s.all))
	for _, d := range s.all {
		all = append(all, d)
	}
	s.mu.Unlock()
	for _, d := range all {
		f(d)
	}
}

// hangUp is for a process whose client has left. Its input goes on to its end: what the
// client wrote before it left is still to be read.
func (s *stdios) hangUp(pid wire.PID) {
	if d := s.find(pid); d != nil {
		d.hangUp()
	}
}

// ended is for a process that has ended.
func (s *stdios) ended(pid wire.PID) {
	if d := s.find(pid); d != nil {
		d.mu.Lock()
		d.ended = true
		d.mu.Unlock()
	}
}

// cut ends all streams without an end of file in them, and takes no others: the clients
// hear that the node is down, not that their processes have said all they had to say,
// nor that somebody has killed them.
func (s *stdios) cut() {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	s.each(func(d *stdio) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.leaving = true
		if d.at != nil {
			d.at.stream.Close()
		}
	})
}

// session says that there is a session now, or none.
func (s *stdios) session(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Time{}
	if is {
		s.begun = time.Now()
	}
}

// keepTime is for how long the descriptors of a process that has ended wait for their
// client while there is a session.
const keepTime = time.Minute

// run gives up what nobody comes back for.
func (s *stdios) run(ctx context.Context) error {
	tick := time.NewTicker(keepTime / 10)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.expire(now)
			if err := s.journal.Trim(); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *stdios) expire(now time.Time) {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun.IsZero() || now.Sub(begun) < keepTime {
		return
	}
	s.each(func(d *stdio) {
		d.mu.Lock()
		old := d.ended && d.at == nil && now.Sub(d.since) >= keepTime
		d.mu.Unlock()
		if old {
			d.leave()
		}
	})
}

// close gives everything up and waits for those at work.
func (s *stdios) close() {
	s.each((*stdio).close)
	s.work.Wait()
}

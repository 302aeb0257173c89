package stdio

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"bproc/slave/journal"
	"bproc/wire"
)

// Table has the standard descriptors of all processes. Its fields are set before the
// first process.
type Table struct {
	Log     *slog.Logger
	Journal *journal.Journal
	Stamp   func() uint64                              // number of the last event
	Keep    func(name string, files ...*os.File) error // open, for the next daemon
	Drop    func(name string)                          // and no longer

	work sync.WaitGroup // the goroutines of Go

	mu      sync.Mutex
	all     map[wire.PID]*Descriptors
	begun   time.Time // of the session; zero: there is none
	leaving bool      // the node ends
}

// Go runs f in a goroutine for which Close waits.
func (s *Table) Go(f func()) { s.work.Go(f) }

// Enter enters the descriptors of a process that is going to be started. Those of a former process
// with its number are to be given up ([Descriptors.Close]); nil: there are none.
func (s *Table) Enter(d *Descriptors) (former *Descriptors) {
	s.mu.Lock()
	defer s.mu.Unlock()
	former = s.all[d.pid]
	if s.all == nil {
		s.all = make(map[wire.PID]*Descriptors)
	}
	s.all[d.pid] = d
	d.leaving = s.leaving
	return former
}

// forget removes descriptors that no goroutine uses any more.
func (s *Table) forget(d *Descriptors) {
	s.mu.Lock()
	if s.all[d.pid] == d {
		delete(s.all, d.pid)
	}
	s.mu.Unlock()
	d.slot.Release()
}

// Find returns the descriptors of a process; nil if it has none.
func (s *Table) Find(pid wire.PID) *Descriptors {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[pid]
}

// Of returns the descriptors that a client wants to go on with. It must be the client that has
// started the process, or root. The error is ESRCH if there are none, and EHOSTDOWN after Cut.
func (s *Table) Of(m *wire.Resume) (*Descriptors, error) {
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

func (s *Table) each(f func(*Descriptors)) {
	s.mu.Lock()
	all := make([]*Descriptors, 0, len(s.all))
	for _, d := range s.all {
		all = append(all, d)
	}
	s.mu.Unlock()
	for _, d := range all {
		f(d)
	}
}

// HangUp tells that the client of a process has left: its output is not read any more. Input
// that the client wrote before still goes to the process.
func (s *Table) HangUp(pid wire.PID) {
	if d := s.Find(pid); d != nil {
		d.hangUp()
	}
}

// Ends tells that the end of a process is perhaps going to be reported. From now on the end of its output does not
// wait for that.
func (s *Table) Ends(pid wire.PID) {
	if d := s.Find(pid); d != nil {
		d.ends()
	}
}

func (d *Descriptors) ends() {
	for _, o := range d.out {
		if o != nil {
			o.ends.Store(true)
		}
	}
}

// Ended tells that a process has ended.
func (s *Table) Ended(pid wire.PID) {
	if d := s.Find(pid); d != nil {
		d.mu.Lock()
		d.ended = true
		d.mu.Unlock()
	}
}

// Cut closes all streams without an end of file, and lets no others begin: the clients see
// that the node is down, not that their processes have ended.
func (s *Table) Cut() {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	s.each(func(d *Descriptors) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.leaving = true
		if d.at != nil {
			d.at.close()
		}
	})
}

// Session tells whether there is a session with the master now.
func (s *Table) Session(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Time{}
	if is {
		s.begun = time.Now()
	}
}

// keepTime is how long the descriptors of a process that has ended wait for its client
// while there is a session.
const keepTime = time.Minute

// Run gives up, until ctx is done, the descriptors of ended processes to which no client comes
// back.
func (s *Table) Run(ctx context.Context) error {
	tick := time.NewTicker(keepTime / 10)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.expire(now)
			if err := s.Journal.Trim(); err != nil { // no reason to end processes
				s.Log.Warn("descriptors of the journal could not be given back", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Table) expire(now time.Time) {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun.IsZero() || now.Sub(begun) < keepTime {
		return
	}
	s.each(func(d *Descriptors) {
		d.leaveIf(func() bool { return d.ended && d.at == nil && now.Sub(d.since) >= keepTime })
	})
}

// Close gives all descriptors up and waits for the goroutines that use them.
func (s *Table) Close() {
	s.each((*Descriptors).Close)
	s.work.Wait()
}

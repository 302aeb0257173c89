package slave

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// madeUpRecords are records that no kernel has noted.
type madeUpRecords struct {
	mu    sync.Mutex
	all   []procevents.Record
	read  int
	lost  uint64
	ready chan struct{}
}

func (m *madeUpRecords) note(all ...procevents.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, all...)
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *madeUpRecords) Wait(ctx context.Context) error {
	select {
	case <-m.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *madeUpRecords) Read(f func(r procevents.Record, at uint64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; m.read < len(m.all); m.read++ {
		f(m.all[m.read], uint64(m.read))
	}
}

func (m *madeUpRecords) Position() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint64(m.read)
}

func (m *madeUpRecords) Release(uint64) {}
func (m *madeUpRecords) Seek(uint64)    {}
func (m *madeUpRecords) Lost() uint64   { return m.lost }

// newTestRecorder returns a recorder of processes that begin with 100, which was started
// from the front end.
func newTestRecorder(t *testing.T, from source) *recorder {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	nobody := func(wire.PID) (procevents.ProcessInfo, bool) { return procevents.ProcessInfo{}, false }
	r := &recorder{
		log: log, source: from, out: newOutlet(nil), started: map[wire.PID]bool{}, ledger: newTestLedger(t),
		tracker: procevents.NewTracker(procevents.DefaultHold, func(wire.PID) (procevents.Image, bool) { return procevents.Image{}, false }),
		empty:   func() {}, life: func(wire.PID, int) {}, end: func(wire.PID) error { return nil },
		watch: newWatch(nobody, from.Position, nil), behind: newBehind(log, func() error { return nil }, func() error { return nil }),
	}
	r.launching(&wire.Spawn{PID: 100, PGID: 100, SID: 100})
	r.spawned(100)
	return r
}

// last returns the number of the last event told.
func (r *recorder) last() uint64 { return r.behind.last.Load() }

func bornOf100(pid wire.PID) procevents.Record {
	return procevents.Record{Kind: procevents.Forked, PID: pid, Parent: 100, Creator: 100, PGID: 100, SID: 100}
}

// TestRecorderHoldsBack has the front end fall behind: what ends soon is not told then, and
// is when it has caught up.
func TestRecorderHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &madeUpRecords{ready: make(chan struct{}, 1)}
		r := newTestRecorder(t, source)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		const many = 3000
		var births []procevents.Record
		for pid := range wire.PID(many) {
			births = append(births, bornOf100(pidmap.Node+pid))
		}
		source.note(births...)
		const pid = pidmap.Node + many
		check := func(when string, want uint64) {
			t.Helper()
			synctest.Wait()
			if got := r.last(); got != want {
				t.Errorf("%s: %d events, want %d", when, got, want)
			}
		}
		time.Sleep(procevents.DefaultHold)
		check("processes that live", 1+many)
		source.note(bornOf100(pid))
		time.Sleep(20 * time.Millisecond)
		source.note(procevents.Record{Kind: procevents.Exited, PID: pid})
		time.Sleep(time.Second)
		check("one that has ended after 20 ms", 1+many)
		source.note(bornOf100(pid + 1))
		time.Sleep(20 * time.Millisecond)
		check("one that lives", 1+many)
		r.progress(1 + many)
		time.Sleep(maxRound)
		check("the front end has caught up", 2+many)
		source.note(bornOf100(pid + 2))
		time.Sleep(procevents.DefaultHold)
		check("another", 3+many)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestRecorderLooksAgain: if processes cannot be looked at after records were lost, they are
// in the next round.
func TestRecorderLooksAgain(t *testing.T) {
	source := &madeUpRecords{ready: make(chan struct{}, 1), lost: 1}
	source.note(bornOf100(pidmap.Node))
	r := newTestRecorder(t, source)
	r.proc = procevents.Proc(t.TempDir() + "/nowhere")
	r.stamp()
	before := r.last()
	r.round()
	if got := r.last(); got != before {
		t.Errorf("%d events, want %d: nobody has been looked at", got, before)
	}
	r.proc = procevents.Proc(t.TempDir())
	for range 2 {
		r.round()
		r.stamp()
		if got := r.last(); got != before+1 {
			t.Errorf("%d events, want %d: one who is not there has ended", got, before+1)
		}
	}
}

// TestEventsWithManyArguments tells of processes with command lines of all kinds, at once.
// Each message can be decoded by whoever is told.
func TestEventsWithManyArguments(t *testing.T) {
	for name, argv := range map[string][]string{
		"none":       nil,
		"empty ones": make([]string, 64<<10),
		"short ones": slices.Repeat([]string{"x"}, 32<<10),
		"a long one": {strings.Repeat("x", 64<<10)},
	} {
		events := slices.Repeat([]wire.Event{{Kind: wire.EventExeced, PID: 1 << 21, Argv: argv, Birth: 1 << 62}}, 500)
		for told := 0; told < len(events); {
			n := atOnce(events[told:])
			frame, err := wire.Append(nil, 0, &wire.Events{First: 1 << 62, Events: events[told : told+n]})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if m, _, err := wire.NewReader(bytes.NewReader(frame)).Read(); err != nil || len(m.(*wire.Events).Events) != n {
				t.Fatalf("%s: %d events: %v", name, n, err)
			}
			told += n
		}
	}
}

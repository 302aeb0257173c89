package slave

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/test/limit"
	"bproc/wire"
)

// madeUpRecords are made-up records of a kernel.
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

func (m *madeUpRecords) Wait(ctx context.Context, until time.Time) error {
	var due <-chan time.Time
	if !until.IsZero() {
		due = time.After(time.Until(until))
	}
	select {
	case <-m.ready:
		return nil
	case <-due:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *madeUpRecords) Wake() { m.note() }

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
func (m *madeUpRecords) Told(time.Time) {}

// newIdleRecorder returns a recorder without processes.
func newIdleRecorder(t *testing.T, from source) *recorder {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	nobody := func(wire.PID) (procevents.ProcessInfo, error) { return procevents.ProcessInfo{}, procevents.ErrGone }
	r := &recorder{
		log: log, source: from, state: newTestState(t),
		tracker: procevents.NewTracker(procevents.DefaultHold, func(wire.PID) (procevents.Image, bool) { return procevents.Image{}, false }),
		empty:   func() {}, life: func(wire.PID, int) {}, end: func(wire.PID) error { return nil },
		watch: newWatch(nobody, from.Position, nil), madeUp: func(uint64) {},
	}
	r.state.tracker = r.tracker
	return r
}

// newTestRecorder returns a recorder of processes that descend from 100, which was started from the
// front end.
func newTestRecorder(t *testing.T, from source) *recorder {
	t.Helper()
	r := newIdleRecorder(t, from)
	r.begin(1, func() (inv wire.Inventory) { return inv })
	if !r.launch(1, &wire.Spawn{PID: 100, PGID: 100, SID: 100}, func() {}) {
		t.Fatal("a launch is refused")
	}
	r.spawned(100)
	return r
}

// last returns the number of the last event reported.
func (r *recorder) last() (last uint64) {
	r.state.look(func(c *core.Core) { last = c.Last() })
	return last
}

func bornOf100(pid wire.PID) procevents.Record {
	return procevents.Record{Kind: procevents.Forked, PID: pid, Parent: 100, Creator: 100, PGID: 100, SID: 100}
}

// TestRecorderHoldsBack has the front end fall behind: short-lived processes are not reported then,
// and are reported when it has caught up.
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
		r.state.step(core.FromMaster{Message: &wire.Progress{Event: 1 + many}})
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

// TestRecorderIsPrompt holds a birth back. The end of a process that the front end knows is reported
// at once all the same, also if the record was taken in by a signal.
func TestRecorderIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &madeUpRecords{ready: make(chan struct{}, 1)}
		r := newTestRecorder(t, source)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		source.note(bornOf100(pidmap.Node), bornOf100(pidmap.Node+1))
		time.Sleep(time.Second)
		check := func(when string, want uint64) {
			t.Helper()
			synctest.Wait()
			if got := r.last(); got != want {
				t.Errorf("%s: %d events, want %d", when, got, want)
			}
		}
		check("two births", 3)
		source.note(bornOf100(pidmap.Node + 2))
		check("a third", 3)
		source.note(procevents.Record{Kind: procevents.Exited, PID: pidmap.Node})
		check("an end", 5)
		source.note(bornOf100(pidmap.Node + 3))
		check("a fourth birth", 5)
		source.mu.Lock()
		source.all = append(source.all, procevents.Record{Kind: procevents.Exited, PID: pidmap.Node + 1})
		source.mu.Unlock()
		r.signal(&wire.Signal{PID: 100, Info: make([]byte, 128)})
		check("an end before a signal", 7)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestZombieIsForgotten has another goroutine take in the end of a process before run learns of the record. Nothing
// else happens until its parent has waited for it: then it is reported.
func TestZombieIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &madeUpRecords{ready: make(chan struct{}, 1)}
		r := newTestRecorder(t, source)
		there := true
		r.tracker.KeepZombies(func(pid wire.PID) (procevents.ProcessInfo, bool) {
			return procevents.ProcessInfo{PID: pid, PGID: 100, SID: 100}, there
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		source.note(bornOf100(pidmap.Node))
		time.Sleep(time.Second)
		synctest.Wait()
		source.mu.Lock()
		source.all = append(source.all, procevents.Record{Kind: procevents.Exited, PID: pidmap.Node})
		source.mu.Unlock()
		zombie := r.stamp()
		r.mu.Lock()
		there = false
		r.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.last(); got != zombie+1 {
			t.Errorf("%d events, want %d: nobody has noticed that the zombie is gone", got, zombie+1)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestRecorderLooksAgain: if processes cannot be looked at after records were lost, the next round
// looks at them.
func TestRecorderLooksAgain(t *testing.T) {
	source := &madeUpRecords{ready: make(chan struct{}, 1), lost: 1}
	r := newTestRecorder(t, source)
	kept := uint64(0)
	r.madeUp = func(lost uint64) { kept = lost }
	source.note(bornOf100(pidmap.Node))
	r.proc = procevents.Proc(t.TempDir() + "/nowhere")
	r.stamp()
	before := r.last()
	r.round()
	if got := r.last(); got != before {
		t.Errorf("%d events, want %d: nobody has been looked at", got, before)
	}
	if kept != 0 {
		t.Error("the next daemon would not look at the processes")
	}
	r.proc = procevents.Proc(t.TempDir())
	for range 2 {
		r.round()
		r.stamp()
		if got := r.last(); got != before+1 {
			t.Errorf("%d events, want %d: one who is not there has ended", got, before+1)
		}
	}
	if kept != 1 {
		t.Errorf("the next daemon makes up for the losses behind %d, want 1", kept)
	}
}

// slowRecords are records whose reading the test holds up.
type slowRecords struct {
	*madeUpRecords
	reads chan struct{} // a value lets one go on
	count int
}

func (s *slowRecords) Read(f func(procevents.Record, uint64)) {
	<-s.reads
	s.count++
	s.madeUpRecords.Read(f)
}

// TestStampsTogether has many callers ask for a stamp while a look is under way. All are served by one
// look, which begins after they have asked.
func TestStampsTogether(t *testing.T) {
	from := &slowRecords{madeUpRecords: &madeUpRecords{ready: make(chan struct{}, 1)}, reads: make(chan struct{})}
	r := newIdleRecorder(t, from)
	ask := func(callers int) (served chan struct{}) {
		served = make(chan struct{}, callers)
		before := r.asked.Load()
		for range callers {
			go func() { r.stamp(); served <- struct{}{} }()
		}
		for r.asked.Load() != before+uint64(callers) {
			runtime.Gosched()
		}
		return served
	}
	await := func(served <-chan struct{}, callers int) {
		t.Helper()
		for i := range callers {
			select {
			case <-served:
			case <-time.After(limit.Scaled(20 * time.Second)):
				t.Fatalf("%d of %d are served", i, callers)
			}
		}
	}
	first := ask(1)
	from.reads <- struct{}{} // its look has begun
	await(first, 1)
	again := ask(1)
	others := ask(50)
	from.reads <- struct{}{}
	await(again, 1)
	from.reads <- struct{}{}
	await(others, 50)
	if from.count != 3 {
		t.Errorf("%d looks", from.count)
	}
}

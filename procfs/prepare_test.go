package procfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// registry reports births that a test announces.
type registry struct {
	mu    sync.Mutex
	count uint64
	fails bool
	calls int
	bell  chan struct{}
}

func newRegistry() *registry { return &registry{bell: make(chan struct{})} }

// announce adds a birth, or makes births fail from now on.
func (r *registry) announce(fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.fails = fails
	close(r.bell)
	r.bell = make(chan struct{})
}

// births is a Config.Births.
func (r *registry) births(ctx context.Context, after uint64) (uint64, error) {
	for {
		r.mu.Lock()
		count, fails, bell := r.count, r.fails, r.bell
		r.calls++
		r.mu.Unlock()
		if fails {
			return 0, unix.ECONNREFUSED
		}
		if count != after {
			return count, nil
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// called returns the number of calls of births.
func (r *registry) called() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// nursery is a view that is not mounted, in simulated time.
type nursery struct {
	*cluster
	*registry
	view *View
}

// inNursery runs a test with a nursery.
func inNursery(t *testing.T, test func(t *testing.T, n *nursery)) {
	synctest.Test(t, func(t *testing.T) {
		n := &nursery{cluster: &cluster{}, registry: newRegistry()}
		n.view = New(Config{Mountpoint: t.TempDir(), Births: n.births}, n.cluster, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = n.view.refresher(ctx) })
		running.Go(func() { _ = n.view.preparer.run(ctx) })
		test(t, n)
		cancel()
		running.Wait()
	})
}

// asked returns how often nodes were asked, when all goroutines wait.
func (n *nursery) asked() int {
	synctest.Wait()
	return n.times()
}

// prepared reports whether a process was read, when all goroutines wait.
func (n *nursery) prepared(pid wire.PID) bool {
	done := n.remembered(pid)
	p := n.view.process(pid)
	return p != nil && done == p.born
}

// remembered returns the preparer's record of a process, when all goroutines wait; 0: none.
func (n *nursery) remembered(pid wire.PID) uint64 {
	synctest.Wait()
	return n.view.preparer.done[pid]
}

// born is a process that has just been started, by this machine's clock. That clock is not
// simulated: in a test the process gets no older.
func born(t *testing.T, pid wire.PID) Process {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	const later = 3600 // the test may take long
	p := remote(pid, 'S', 0)
	p.Stat = bytes.Replace(p.Stat, []byte(" 1000 "), fmt.Appendf(nil, " %d ", (now.Sec+later)*int64(time.Second/Tick)), 1)
	return p
}

// TestNothingIsBorn checks that nothing is asked without births.
func TestNothingIsBorn(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		time.Sleep(time.Hour)
		if got := n.asked(); got != 0 {
			t.Errorf("nodes were asked %d times", got)
		}
	})
}

// TestBirth checks that nodes are asked after the time in which most new processes end, and not
// again without further births.
func TestBirth(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		n.tell(Changes{Changed: []Process{remote(77, 'S', 0)}})
		n.announce(false)
		time.Sleep(settle - 1)
		if got := n.asked(); got != 0 {
			t.Errorf("nodes were asked %d times at once", got)
		}
		time.Sleep(time.Minute)
		if !n.prepared(77) {
			t.Error("the process was not looked into")
		}
		got := n.asked()
		if got < leastAsked || got > mostAsked {
			t.Errorf("nodes were asked %d times", got)
		}
		time.Sleep(time.Hour)
		if again := n.asked(); again != got {
			t.Errorf("nodes were asked %d times more", again-got)
		}
	})
}

// TestShortLife checks that a process that ends early is not read.
func TestShortLife(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		n.tell(Changes{Changed: []Process{born(t, 77), born(t, 78)}})
		n.announce(false)
		time.Sleep(settle + freshness/2) // the first round is in progress
		if n.asked() == 0 || n.prepared(77) || n.prepared(78) {
			t.Fatalf("nodes were asked %d times; prepared: %v, %v", n.asked(), n.prepared(77), n.prepared(78))
		}
		n.tell(Changes{Ended: []wire.PID{77}})
		time.Sleep(time.Minute)
		if n.remembered(77) != 0 || !n.prepared(78) {
			t.Errorf("prepared: %v, %v, want the second alone", n.remembered(77) != 0, n.prepared(78))
		}
		got := n.asked()
		time.Sleep(time.Hour)
		if again := n.asked(); again != got {
			t.Errorf("nodes were asked %d times more", again-got)
		}
	})
}

// only ends one process, and makes another one known.
func (n *nursery) only(is Process, was wire.PID) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.changes = Changes{Changed: []Process{is}, Ended: append(n.changes.Ended, was)}
}

// TestManyShortLives checks that constant births do not cause constant questions to nodes.
func TestManyShortLives(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		const length = 10 * time.Minute
		for pid := range wire.PID(length / (100 * time.Millisecond)) {
			n.only(born(t, pid+100), pid+99)
			n.announce(false)
			time.Sleep(100 * time.Millisecond)
		}
		if got, most := n.asked(), leastAsked*int(length/settle); got > most {
			t.Errorf("nodes were asked %d times, want at most %d", got, most)
		}
		if done := n.view.preparer.done; len(done) != 0 {
			t.Errorf("%d were looked into", len(done))
		}
	})
}

// TestOnceOnly checks that a process that changes all the time is not read in each round, and that
// a later process with its number is read.
func TestOnceOnly(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		looked := func() bool {
			n.announce(false)
			time.Sleep(settle + 1)
			synctest.Wait()
			due, _ := n.view.preparer.due()
			return len(due) == 0 && n.prepared(77)
		}
		n.tell(Changes{Changed: []Process{remote(77, 'S', 0)}})
		if !looked() {
			t.Fatal("a process was not looked into")
		}
		first := n.remembered(77)
		n.tell(Changes{Changed: []Process{remote(77, 'R', 1)}})
		time.Sleep(2 * longestRest)
		if !looked() || n.remembered(77) != first {
			t.Errorf("a process that has changed: done %d, before %d", n.remembered(77), first)
		}
		other := remote(77, 'S', 0)
		other.Stat = bytes.Replace(other.Stat, []byte(" 1000 "), []byte(" 1001 "), 1)
		n.tell(Changes{Changed: []Process{other}})
		time.Sleep(2 * longestRest)
		if !looked() || n.remembered(77) == first {
			t.Error("another process with the number was not looked into")
		}
	})
}

// TestBirthsAreNotTold has a master that does not know births, or does not run, until the next one
// does.
func TestBirthsAreNotTold(t *testing.T) {
	inNursery(t, func(t *testing.T, n *nursery) {
		n.announce(true)
		time.Sleep(time.Hour)
		if got, most := n.called(), int(time.Hour/lastAgain)+10; got < 2 || got > most || n.asked() != 0 {
			t.Errorf("the master was asked %d times, the nodes %d; want at most %d, and 0", got, n.asked(), most)
		}
		n.tell(Changes{Changed: []Process{remote(77, 'S', 0)}})
		n.announce(false)
		time.Sleep(lastAgain + settle + 1)
		if !n.prepared(77) {
			t.Error("the process was not looked into")
		}
	})
}

// gates are the pauses of a preparer, which a test opens one by one.
type gates struct{ at, open chan struct{} }

func newGates() gates { return gates{make(chan struct{}), make(chan struct{})} }

// pause is a preparer's pause.
func (g gates) pause(ctx context.Context, _ time.Duration) bool {
	for _, gate := range []chan struct{}{g.at, g.open} {
		select {
		case <-gate:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// reached waits until the preparer pauses.
func (g gates) reached(t *testing.T) {
	t.Helper()
	select {
	case g.at <- struct{}{}:
	case <-time.After(time.Minute):
		t.Fatal("the preparer does not come to a pause")
	}
}

// TestPrepared checks that after births the kernel knows the processes and the contents of their
// files before any program reads them. A reader that lists them while they are being read does not
// wait for that.
func TestPrepared(t *testing.T) {
	g, r := newGates(), newRegistry()
	m := mountView(t, func(v *View) {
		v.preparer.pause, v.preparer.spell = g.pause, 0 // a pause after each process
	}, func(c *Config) { c.Births = r.births })
	var told []Process
	for i, pid := range ghosts(t, 2*worthWarming) {
		told = append(told, remote(pid, 'S', i))
	}
	m.tell(Changes{Changed: told})
	known := func(some []Process) error {
		var errs []error
		for _, p := range some {
			for name, want := range map[string][]byte{"stat": p.Stat, "status": p.Status, "cmdline": p.Cmdline, "environ": p.Environ} {
				errs = append(errs, m.keeps(want, p.PID.String(), name))
			}
		}
		return errors.Join(errs...)
	}
	warm := func() error { // TestListingWarms checks the contents of the files
		var errs []error
		for _, p := range told {
			if m.view.cold(p.PID) {
				errs = append(errs, fmt.Errorf("the kernel does not know %d", p.PID))
			}
		}
		return errors.Join(errs...)
	}
	r.announce(false)
	g.reached(t)          // settle
	m.view.rounds.reset() // else the nodes would count as just asked, when the view was opened
	g.open <- struct{}{}
	g.reached(t) // after the first process
	asked := m.times()
	m.view.rounds.reset()
	g.open <- struct{}{}
	g.reached(t) // after the second process
	if got := m.times(); got != asked {
		t.Errorf("the preparer had nodes asked %d times by looking into a process", got-asked)
	}
	if err := known(told[:2]); err != nil {
		t.Error(err)
	}
	if last := told[len(told)-1].PID; !m.view.cold(last) {
		t.Error("all processes were looked into without a pause")
	}
	// The reader gets the warmer, which is done some time after the listing.
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, warm)
	for range len(told) - 2 { // the preparer has the others left, and finds them known
		g.open <- struct{}{}
		g.reached(t)
	}
	if err := warm(); err != nil {
		t.Error(err)
	}
}

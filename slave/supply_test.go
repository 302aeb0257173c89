package slave

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
)

func TestSupply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupply()
		answers := make(chan error, 1)
		await := func(ended chan struct{}) { go func() { answers <- s.await(ended) }() }
		waits := func(when string) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-answers:
				t.Errorf("%s: got %v, want to wait", when, err)
			default:
			}
		}
		answered := func(when string, want error) {
			t.Helper()
			if err := <-answers; !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", when, err, want)
			}
		}
		await(nil)
		waits("before the first lease")
		s.set(false)
		waits("of a session without numbers")
		s.set(true)
		answered("with numbers", nil)
		s.set(true)
		await(nil)
		answered("with more numbers", nil)
		s.set(false)
		session := make(chan struct{})
		await(session)
		waits("after all were given back")
		close(session)
		answered("after the session", nil)
		begin := time.Now()
		await(nil)
		answered("without an answer", unix.EAGAIN)
		if took := time.Since(begin); took != supplyTime {
			t.Errorf("waited for %v, want %v", took, supplyTime)
		}
	})
}

// TestSpawnBeforeBlocks has a process requested before there are numbers for its forks. Its child
// still has one of those numbers.
func TestSpawnBeforeBlocks(t *testing.T) {
	lend := make(chan struct{})
	f := newFront(t, 1)
	f.lend = lend
	newDaemons(t, f)
	job := f.start(70001, nil, "sh", "-c", "sh -c 'exec sleep 1000' & echo $!; wait")
	time.AfterFunc(300*time.Millisecond, func() { close(lend) }) // far longer than a start takes
	f.await("its child is known", func() bool { return job.got[0] > 0 && len(f.procs) == 2 })
	f.mu.Lock()
	defer f.mu.Unlock()
	for pid, parent := range f.procs {
		if parent == job.spawn.PID && pid < pidmap.Node {
			t.Errorf("the child has number %d, want one of the node's", pid)
		}
	}
}

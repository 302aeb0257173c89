package cluster

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/limit"
)

const (
	// testTimeout is how long a test with a cluster may take without [Watch]. Only a test that
	// hangs reaches it.
	testTimeout = 15 * time.Minute

	// raceFactor is how much longer everything may take under the race detector.
	raceFactor = 3

	// endTimeout is how long a test may take to end after its machines were switched off.
	endTimeout = 2 * time.Minute
)

// watchdog ends a test that hangs. When the test's time is over, it reports the state of the test,
// its daemons and its processes, and switches its machines off. So the test's waits end, and the
// next tests can begin.
type watchdog struct {
	t     testing.TB
	limit time.Duration
	stop  chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	clusters []*Cluster
	barked   bool
}

// watched are the tests that have a watchdog, by name.
var watched struct {
	mu   sync.Mutex
	dogs map[string]*watchdog
}

// Watch bounds the time of t from now on. A test that needs more time than others calls it before
// it starts a cluster.
func Watch(t testing.TB, atMost time.Duration) {
	t.Helper()
	if Race {
		atMost *= raceFactor
	}
	watch(t, atMost)
}

// watch returns the watchdog of a test: its present one, or a new one with this limit.
func watch(t testing.TB, atMost time.Duration) *watchdog {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if w := watched.dogs[t.Name()]; w != nil {
		return w
	}
	w := &watchdog{t: t, limit: limit.Scaled(atMost), stop: make(chan struct{}), ended: make(chan struct{})}
	if watched.dogs == nil {
		watched.dogs = map[string]*watchdog{}
	}
	watched.dogs[t.Name()] = w
	go w.run()
	t.Cleanup(w.end)
	return w
}

// add makes the watchdog switch off a cluster, too.
func (w *watchdog) add(c *Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters = append(w.clusters, c)
}

func (w *watchdog) run() {
	defer close(w.ended)
	if !w.over(w.limit) {
		return
	}
	w.mu.Lock()
	w.barked = true
	clusters := slices.Clone(w.clusters)
	w.mu.Unlock()
	w.t.Errorf("not done after %v: its machines are switched off", w.limit)
	w.t.Logf("the test is at:\n%s", ourStacks())
	for _, c := range clusters {
		for _, text := range c.autopsy() {
			w.t.Log(text)
		}
		c.powerFailure()
	}
	if w.over(endTimeout) {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("%s hangs even after its machines were switched off", w.t.Name()))
	}
}

// over reports whether a time has passed and the test has not ended.
func (w *watchdog) over(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.stop:
		return false
	case <-timer.C:
		return true
	}
}

// end is called when the test has ended.
func (w *watchdog) end() {
	watched.mu.Lock()
	delete(watched.dogs, w.t.Name())
	watched.mu.Unlock()
	close(w.stop)
	<-w.ended
}

// tooLate reports whether the machines of a test, or of a test that it is part of, were switched
// off because it hung: waiting is useless then.
func tooLate(t testing.TB) bool {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for name := t.Name(); name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		w := watched.dogs[name]
		if w == nil {
			continue
		}
		w.mu.Lock()
		barked := w.barked
		w.mu.Unlock()
		if barked {
			return true
		}
	}
	return false
}

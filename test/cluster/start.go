package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"bproc/test/limit"
)

// startTimeout is how long a whole cluster may take to start, on a machine
// that is busy with other tests.
var startTimeout = limit.Scaled(5 * time.Minute)

// shared are the clusters that tests share, by number of nodes.
var shared struct {
	mu       sync.Mutex
	clusters map[int]*Cluster
}

// Main runs the tests of a package that has clusters, and returns the exit
// code. It fails when something of the clusters is left at the end.
func Main(m *testing.M) int {
	code := m.Run()
	var errs []error
	for _, c := range shared.clusters {
		errs = append(errs, c.Stop())
	}
	errs = append(errs, Finish())
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Finish removes what the clusters of this process have shared. A program
// calls it before it ends, after all clusters were stopped. If it does not,
// because it was killed, the same is done a moment later.
func Finish() error {
	s := made.Load()
	if s == nil {
		return nil // no cluster was started
	}
	if err := s.janitor.finish(); err != nil {
		return err
	}
	return s.leftovers()
}

// Start starts a cluster for one test, and stops it when the test ends.
func Start(t testing.TB, config Config) *Cluster {
	t.Helper()
	c, err := start(t, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	c.logOnFailure(t)
	return c
}

// start starts a cluster under the eyes of the test's watchdog, so also its start.
func start(t testing.TB, config Config) (*Cluster, error) {
	t.Helper()
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	watch(t, testTimeout).add(c)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	return c, c.startOrStop(ctx)
}

// Shared returns a running cluster of the given number of nodes, the same for
// all tests that ask for this number. A test must leave it as it was: all nodes
// up, no processes of its own. One in which a test hung is replaced.
func Shared(t testing.TB, nodes int) *Cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	c := shared.clusters[nodes]
	if c != nil && c.failed.Load() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		c = nil
	}
	if c == nil {
		var err error
		if c, err = start(t, Config{Nodes: nodes}); err != nil {
			t.Fatal(err)
		}
		if shared.clusters == nil {
			shared.clusters = map[int]*Cluster{}
		}
		shared.clusters[nodes] = c
	}
	watch(t, testTimeout).add(c)
	c.logOnFailure(t)
	return c
}

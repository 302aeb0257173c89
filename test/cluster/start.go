package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/limit"
)

// startTimeout is how long a whole cluster may take to start, on a machine that is busy with other
// tests.
var startTimeout = limit.Scaled(5 * time.Minute)

// shared are the clusters that tests use one after the other, by number of nodes.
var shared struct {
	mu       sync.Mutex
	clusters map[int][]*lent
}

// lent is a cluster that at most one test has at a time.
type lent struct {
	*Cluster
	to   string // the top-level test; empty: none
	uses int    // by the test and its subtests
}

// Main runs the tests of a package that has clusters, and returns the exit code. It fails if
// something of the clusters is left at the end.
func Main(m *testing.M) int {
	code := m.Run()
	var errs []error
	for _, all := range shared.clusters {
		for _, c := range all {
			errs = append(errs, c.Stop())
		}
	}
	errs = append(errs, Finish())
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Finish removes the shared resources of this process's clusters. A program calls it before it
// ends, after all clusters were stopped. If it does not, because it was killed, the janitor does
// the same.
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

// start starts a cluster with the test's watchdog running already.
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

// Shared returns a running cluster of the given number of nodes. Until the test ends only its own
// subtests may use it, too. The test must leave the cluster in its former state: all nodes up, no
// processes of its own. A cluster in which a test hung is replaced.
func Shared(t testing.TB, nodes int) *Cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	test, _, _ := strings.Cut(t.Name(), "/")
	l := free(t, test, nodes)
	if l == nil {
		c, err := start(t, Config{Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		l = &lent{Cluster: c}
		if shared.clusters == nil {
			shared.clusters = map[int][]*lent{}
		}
		shared.clusters[nodes] = append(shared.clusters[nodes], l)
	}
	l.to = test
	l.uses++
	t.Cleanup(l.giveBack)
	watch(t, testTimeout).add(l.Cluster)
	l.logOnFailure(t)
	return l.Cluster
}

// free finds the cluster that a test already has, or one that no test has; nil: none.
func free(t testing.TB, test string, nodes int) (found *lent) {
	t.Helper()
	for i, l := range slices.Backward(shared.clusters[nodes]) {
		switch {
		case l.to == test:
			return l
		case l.to != "":
		case l.failed.Load():
			shared.clusters[nodes] = slices.Delete(shared.clusters[nodes], i, i+1)
			if err := l.Stop(); err != nil {
				t.Error(err)
			}
		default:
			found = l
		}
	}
	return found
}

func (l *lent) giveBack() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if l.uses--; l.uses == 0 {
		l.to = ""
	}
}

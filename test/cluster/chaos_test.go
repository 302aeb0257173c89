package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

const (
	// chaosVariable names the environment variable with the length of each schedule of TestChaos,
	// such as 3m.
	chaosVariable = "BPROC_CHAOS"
	// chaosSeedsVariable names the variable with the seeds, such as "1 2 3".
	chaosSeedsVariable = "BPROC_CHAOS_SEEDS"
)

// TestChaos has parts of a cluster fail at random while jobs run. A job that no fault may have
// harmed has its status, all of its output and input, and every signal, once. Harmed jobs end, and
// nothing is left.
func TestChaos(t *testing.T) {
	t.Parallel()
	length, seeds := chaosTimes(t, 8*time.Second, "1 2")
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, seed, length) })
	}
}

// chaosTimes returns the length of each schedule, and the seeds: the defaults unless the
// environment has others.
func chaosTimes(t *testing.T, length time.Duration, text string) (_ time.Duration, seeds []uint64) {
	t.Helper()
	if given := os.Getenv(chaosVariable); given != "" {
		var err error
		if length, err = time.ParseDuration(given); err != nil {
			t.Fatalf("%s: %v", chaosVariable, err)
		}
	}
	if given := os.Getenv(chaosSeedsVariable); given != "" {
		text = given
	}
	for word := range strings.FieldsSeq(text) {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", chaosSeedsVariable, err)
		}
		seeds = append(seeds, seed)
	}
	return length, seeds
}

const (
	chaosNodes   = 3
	chaosWorkers = 6 // jobs at a time
)

func chaos(t *testing.T, seed uint64, length time.Duration) {
	faults := newSchedule(seed, chaosNodes, length)
	t.Logf("the schedule of seed %d for %v:\n%s", seed, length, text(faults))
	cluster.Watch(t, length+3*time.Minute)
	c := cluster.Start(t, cluster.Config{Nodes: chaosNodes, MasterConfig: fmt.Sprintf("lease %d\n", chaosLease/time.Second)})
	records := filepath.Join(scratch(t), "records")
	if err := os.WriteFile(records, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(records, 0o666); err != nil {
		t.Fatal(err)
	}
	w := &workload{t: t, c: c, program: cluster.Program(t, "testdata/chaos.c"), records: records, until: time.Now().Add(length)}
	var workers sync.WaitGroup
	for i := range chaosWorkers {
		workers.Go(func() { w.run(rand.New(rand.NewPCG(seed, uint64(i+1)))) })
	}
	play(t, c, faults)
	workers.Wait()
	w.endHung()

	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := c.WaitUp(ctx, c.NodeIDs()...); err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	harmed := w.check(faults)
	t.Logf("%d jobs, %d of which a fault may have harmed", len(w.jobs), harmed)
	if len(w.jobs) == harmed {
		t.Error("no job says anything")
	}
}

// workload has the jobs that run during the faults.
type workload struct {
	t       *testing.T
	c       *cluster.Cluster
	program string
	records string
	until   time.Time

	mu   sync.Mutex
	jobs []*chaosJob
}

// run runs one job after the other.
func (w *workload) run(r *rand.Rand) {
	for time.Now().Before(w.until) {
		w.mu.Lock()
		j := &chaosJob{id: len(w.jobs), node: r.IntN(chaosNodes), user: users[r.IntN(len(users))], seed: r.IntN(1 << 30)}
		w.jobs = append(w.jobs, j)
		w.mu.Unlock()
		j.length = time.Duration(r.IntN(2000)) * time.Millisecond
		if r.IntN(2) == 0 {
			j.input = r.IntN(1 << 20)
		}
		if r.IntN(2) == 0 {
			j.signals = r.IntN(20)
		}
		j.run(w)
		if j.code == 255 { // a node may be down: not all jobs at once should try it
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// endHung ends the processes of jobs that hang, which check reports.
func (w *workload) endHung() {
	for _, j := range w.jobs {
		if pid := j.pid(); j.hung && pid != 0 {
			_ = w.c.Front.Kill(pid, unix.SIGKILL) // its ghost may be gone
		}
	}
}

// check compares the results of the jobs with the expected ones, and returns how many may have been
// harmed.
func (w *workload) check(faults []*fault) (harmed int) {
	recorded, err := readRecords(w.records)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := recorded.numbers(); err != nil {
		w.t.Error(err)
	}
	for _, j := range w.jobs {
		var around, refusals []string
		may, keeperKilled := false, false
		for _, f := range faults {
			if f.mayHarm(j.node, j.began, j.ended) {
				may, keeperKilled = true, keeperKilled || f.kind.harm == harmsEvery
			}
			if f.began.Before(j.ended) && f.ended.Add(settling).After(j.began) && f.kind.refuses != "" {
				refusals = append(refusals, f.kind.refuses)
			}
			if f.began.Before(j.ended) && f.ended.After(j.began) {
				around = append(around, f.String())
			}
		}
		if may {
			harmed++
		}
		if err := j.check(recorded[j.id], may, keeperKilled, refusals); err != nil {
			w.t.Errorf("job %d of %s on node %d, %v to %v: %v\nmeanwhile:\n%s", j.id, j.user.Name, j.node,
				j.began.Sub(faults[0].began), j.ended.Sub(faults[0].began), err, strings.Join(around, "\n"))
		}
	}
	return harmed
}

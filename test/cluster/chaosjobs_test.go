package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/cluster"
)

// TestChaosJobs has parts of a cluster fail at random under supervised jobs: each ends as its rule
// says, no process ever runs twice at a time, and logs are complete. Times and seeds are those of
// TestChaos.
func TestChaosJobs(t *testing.T) {
	t.Parallel()
	length, seeds := chaosTimes(t, 8*time.Second, "1")
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaosJobs(t, seed, length) })
	}
}

// supervisedJobs is the number of jobs.
const supervisedJobs = 30

// ruledJob is a job of testdata/jobchaos.c.
type ruledJob struct {
	name  string
	rule  string // when it is restarted
	lines int
	pause int // milliseconds
	code  int
}

// newRuledJob makes a job of a kind.
func newRuledJob(r *rand.Rand, i int) ruledJob {
	j := ruledJob{name: fmt.Sprintf("job%02d", i), lines: 20 + r.IntN(60), pause: 10 + r.IntN(20)}
	switch i % 5 {
	case 0:
		j.rule = "always"
	case 1:
		j.rule, j.code = "on-failure", 3
	case 2, 3:
		j.rule = "on-failure"
		j.lines *= 4 // so that a fault hits it
	default:
		j.rule, j.code = "no", i%2*7
		j.lines *= 2
	}
	return j
}

// forever reports whether it never ends by its rule.
func (r *ruledJob) forever() bool { return r.rule == "always" || r.rule == "on-failure" && r.code != 0 }

func (r *ruledJob) file(program, records string, first int) string {
	return fmt.Sprintf(`
nodes: "%d,%d,%d"
processes:
- name: %s
  executable: %s
  args: [%s, %s, %d, %d, %d]
  shutdown_timeout: 1s
  restart: {when: %s, delay: 100ms, max_delay: 1s}
  unsafe: {unrestricted_volumes: [{path: %s, allow_executions: true}, {path: %s, writable: true}]}
`, first, (first+1)%chaosNodes, (first+2)%chaosNodes, r.name, program, r.name, records, r.lines, r.pause, r.code, r.rule,
		filepath.Dir(program), filepath.Dir(records))
}

func chaosJobs(t *testing.T, seed uint64, length time.Duration) {
	faults := withReboot(newSchedule(seed, chaosNodes, length), seed, length)
	t.Logf("the schedule of seed %d for %v:\n%s", seed, length, text(faults))
	cluster.Watch(t, length+5*time.Minute)
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: chaosNodes, MasterConfig: fmt.Sprintf("lease %d\n", chaosLease/time.Second)}), t: t}
	program := cluster.Program(t, "testdata/jobchaos.c")
	records := filepath.Join(scratch(t), "records")
	if err := os.WriteFile(records, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	all := make([]ruledJob, supervisedJobs)
	var starts sync.WaitGroup
	for i := range all {
		all[i] = newRuledJob(random, i)
		j.write(all[i].name, all[i].file(program, records, i%chaosNodes))
		starts.Go(func() { j.run("start", all[i].name) })
	}
	starts.Wait()

	var restarts sync.WaitGroup
	var failed sync.Map
	over, cancel := context.WithCancel(t.Context())
	for i := range 2 {
		restarts.Go(func() { j.restartSome(over, rand.New(rand.NewPCG(seed, uint64(i+2))), all, &failed) })
	}
	play(t, j.Cluster, faults)
	cancel()
	restarts.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := j.WaitUp(ctx, j.NodeIDs()...); err != nil {
		t.Error(err)
	}
	var ends sync.WaitGroup
	for i := range all {
		ends.Go(func() { j.settled(&all[i], &failed) })
	}
	ends.Wait()
	cluster.Eventually(t, "nothing is left", func() error { return idle(j.Cluster) })
	told, err := readRuns(records)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range all {
		runs := told[all[i].name]
		total += len(runs)
		if err := j.whole(&all[i], runs); err != nil {
			t.Errorf("%+v: %v", all[i], err)
		}
	}
	t.Logf("%d jobs, %d runs", len(all), total)
}

// withReboot adds the loss of a node to a schedule that is too short to have one.
func withReboot(faults []*fault, seed uint64, length time.Duration) []*fault {
	node, at := int(seed%chaosNodes), length/4
	f := &fault{node: node, at: at, end: at + 2*time.Second}
	for _, k := range faultKinds {
		if k.name == "reboot" {
			f.kind = k
		}
	}
	kept := []*fault{f}
	for _, other := range faults {
		if other.node != node || other.end < f.at || other.at > f.end+2*time.Second {
			kept = append(kept, other)
		}
	}
	return kept
}

// restartSome restarts jobs that run forever, one after the other, while others do the same.
// Restarts may fail: failed has their jobs and messages.
func (j *jobs) restartSome(ctx context.Context, r *rand.Rand, all []ruledJob, failed *sync.Map) {
	for ctx.Err() == nil {
		job := &all[r.IntN(len(all))]
		if !job.forever() {
			continue
		}
		if res := j.try("restart", job.name); res.Code != 0 {
			failed.Store(job.name, res.Stderr)
		}
	}
}

// settled checks the end of a job when all faults are over.
func (j *jobs) settled(r *ruledJob, failed *sync.Map) {
	if r.forever() {
		runs := j.status(r.name).Runs
		k := j.status(r.name)
		if k.State == "failed" { // a manual restart that failed because of a fault is not repeated
			if said, ok := failed.Load(r.name); !ok {
				j.t.Errorf("%+v: got %+v, and no restart by hand failed", r, k)
			} else {
				j.t.Logf("%s: a restart failed: %s", r.name, said)
			}
			j.run("start", r.name)
		}
		j.awaitProcess(r.name, r.name, "running again", func(k jobStatus) bool { return k.State == "running" || k.Runs > runs })
		j.run("stop", r.name)
		if k := j.status(r.name); k.State != "stopped" {
			j.t.Errorf("%+v: got %+v", r, k)
		}
		return
	}
	k := j.awaitProcess(r.name, r.name, "over", func(k jobStatus) bool { return k.State == "finished" || k.State == "failed" })
	switch {
	case r.rule == "no" && k.State == "failed" && k.Exit.Cause == "node down":
	case r.code == 0 && k.State == "finished":
	case r.code != 0 && k.State == "failed" && k.Exit.Code == r.code:
	default:
		j.t.Errorf("%+v: got %+v, %+v; it says %s", r, k, k.Exit, j.log(r.name, "stderr"))
	}
}

// readRuns returns which runs of each job have begun, and whether each has ended by itself.
func readRuns(file string) (map[string]map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]bool)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "overlap" {
			return nil, fmt.Errorf("record %q", line)
		}
		if all[f[1]] == nil {
			all[f[1]] = make(map[string]bool)
		}
		all[f[1]][f[2]] = f[0] == "end"
	}
	return all, nil
}

// whole checks that the log of a job has the lines of each of its runs, in order and without gaps:
// all lines of a run that has ended by itself, unless its node was lost with its last output.
func (j *jobs) whole(r *ruledJob, runs map[string]bool) error {
	next, ended := make(map[string]int), make(map[string]bool)
	for line := range strings.Lines(j.log(r.name, "stdout")) {
		run, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, ok := runs[run]; !ok || ended[run] {
			return fmt.Errorf("the log has %q", line)
		}
		switch {
		case what == "end" && next[run] == r.lines:
			ended[run] = true
		case what == fmt.Sprint(next[run]):
			next[run]++
		default:
			return fmt.Errorf("after line %d of a run comes %q", next[run]-1, line)
		}
	}
	events, err := j.Front.ReadFile(jobRoot + "/sys/log/" + r.name + "/bpm.log")
	if err != nil {
		return err
	}
	var cut, silent []string // after some lines, and without any
	for run, end := range runs {
		switch {
		case !end || ended[run]:
		case next[run] > 0:
			cut = append(cut, fmt.Sprintf("%s after line %d", run, next[run]))
		default:
			silent = append(silent, run)
		}
	}
	down := strings.Count(string(events), "node down")
	// A node may also be lost, or the job be stopped, before it is known that the node has started the process:
	// then there is no output.
	unsure := 0
	for _, why := range []string{"it has nothing more of process", " is down", `"reason":"it was stopped"`} {
		unsure += strings.Count(string(events), why)
	}
	if len(cut) > down || len(cut)+len(silent) > down+unsure {
		return fmt.Errorf("of runs that have ended the logs are cut off: %q, or empty: %q; %d were lost with their node, and perhaps %d; events:\n%s", cut, silent, down, unsure, events)
	}
	return nil
}

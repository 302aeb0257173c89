package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// jobRoot is the directory of jobs in the machines of tests.
const jobRoot = "/var/lib/vcap"

// jobs is a cluster with jobs.
type jobs struct {
	*cluster.Cluster
	t    *testing.T
	node int // default node of jobs
}

func startJobs(t *testing.T, nodes int) *jobs {
	t.Helper()
	return &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: nodes}), t: t}
}

// at returns the node where jobs run, for command lines.
func (j *jobs) at() string { return strconv.Itoa(j.node) }

// machine returns that node.
func (j *jobs) machine() *cluster.Machine { return j.Nodes[j.node] }

// write writes the job file of a job.
func (j *jobs) write(name, text string) {
	j.t.Helper()
	if err := j.Front.WriteFile(jobRoot+"/jobs/"+name+"/config/bpm.yml", text, 0o644); err != nil {
		j.t.Fatal(err)
	}
}

// try runs bpjob.
func (j *jobs) try(args ...string) cluster.Result {
	j.t.Helper()
	return j.on(j.Front, "env", append([]string{"BPJOB_ROOT=" + jobRoot, "bpjob"}, args...)...)
}

func (j *jobs) on(m *cluster.Machine, name string, args ...string) cluster.Result {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.t.Context()), limit.Scaled(2*time.Minute))
	defer cancel()
	res, err := m.Exec(ctx, cluster.Root, append([]string{name}, args...)...)
	if err != nil {
		j.t.Fatalf("%s %v: %v", name, args, err)
	}
	return res
}

// run runs bpjob, which must succeed, and returns what it prints.
func (j *jobs) run(args ...string) string {
	j.t.Helper()
	res := j.try(args...)
	if res.Code != 0 {
		j.t.Fatalf("bpjob %v: exit code %d\n%s%s", args, res.Code, res.Stdout, res.Stderr)
	}
	return res.Stdout
}

// jobStatus is the output of "bpjob status --json".
type jobStatus struct {
	State   string
	PID     int
	Node    *int
	Runs    int
	Reason  string
	Trouble string
	Exit    *struct {
		Code, Signal int
		Cause        string
	}
}

func (j *jobs) status(args ...string) jobStatus {
	j.t.Helper()
	var k jobStatus
	if err := json.Unmarshal([]byte(j.run(append([]string{"status", "--json"}, args...)...)), &k); err != nil {
		j.t.Fatal(err)
	}
	return k
}

// await waits until the status of the process with the name of its job is right.
func (j *jobs) await(job, what string, right func(jobStatus) bool) jobStatus {
	j.t.Helper()
	return j.awaitProcess(job, job, what, right)
}

func (j *jobs) awaitProcess(job, process, what string, right func(jobStatus) bool) jobStatus {
	j.t.Helper()
	deadline := time.Now().Add(limit.Scaled(time.Minute))
	for {
		k := j.status("-p", process, job)
		if right(k) {
			return k
		}
		if time.Now().After(deadline) {
			j.t.Fatalf("process %s of job %s: not %s: %+v", process, job, what, k)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// log reads a log of a process, which may not exist yet.
func (j *jobs) log(job, stream string) string {
	j.t.Helper()
	b, err := j.Front.ReadFile(fmt.Sprintf("%s/sys/log/%s/%s.%s.log", jobRoot, job, job, stream))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.t.Fatal(err)
	}
	return string(b)
}

// awaitLog waits for a text in a log.
func (j *jobs) awaitLog(job, stream, text string) {
	j.t.Helper()
	deadline := time.Now().Add(limit.Scaled(time.Minute))
	for !strings.Contains(j.log(job, stream), text) {
		if time.Now().After(deadline) {
			j.t.Fatalf("%s of job %s: %q is not in %q", stream, job, text, j.log(job, stream))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitArgs waits until the front end shows a process with some arguments: it may be about to
// execute them.
func (j *jobs) awaitArgs(pid, want string) {
	j.t.Helper()
	var got string
	for deadline := time.Now().Add(limit.Scaled(time.Minute)); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = strings.TrimSpace(j.on(j.Front, "ps", "-o", "args=", "-p", pid).Stdout); got == want {
			return
		}
	}
	j.t.Errorf("process %s: got %q, want %q", pid, got, want)
}

// process returns a job file with one process, which has the job's name: a script, and more keys.
func process(name, script string, keys ...string) string {
	text := "processes:\n- name: " + name + "\n  executable: sh\n  args: [-c, " + strconv.Quote(script) + "]\n"
	for _, key := range keys {
		text += "  " + strings.ReplaceAll(key, "\n", "\n  ") + "\n"
	}
	return text
}

// foreground runs a script as a job, and returns its result.
func (j *jobs) foreground(name, script string, keys ...string) cluster.Result {
	j.t.Helper()
	j.write(name, process(name, script, keys...))
	return j.try("run", "-N", j.at(), name)
}

// says runs a script as a job, which must succeed, and returns its output.
func (j *jobs) says(name, script string, keys ...string) string {
	j.t.Helper()
	res := j.foreground(name, script, keys...)
	if res.Code != 0 || res.Stderr != "" {
		j.t.Fatalf("job %s: exit code %d\n%s%s", name, res.Code, res.Stdout, res.Stderr)
	}
	return res.Stdout
}

// start starts a script as a job, in the background.
func (j *jobs) start(name, script string, keys ...string) {
	j.t.Helper()
	j.write(name, process(name, script, keys...))
	j.run("start", "-N", j.at(), name)
	j.t.Cleanup(func() { j.try("stop", name) })
}

// jobCase is a case of a suite of jobs, which share a cluster. Each has jobs of its own, with its
// name. Cases alternate between the nodes.
type jobCase struct {
	name string
	test func(j *jobs, name string)
}

func (j *jobs) suite(cases []jobCase) {
	for i, c := range cases {
		j.t.Run(c.name, func(t *testing.T) { c.test(&jobs{j.Cluster, t, i % len(j.Nodes)}, fmt.Sprintf("case%d", i)) })
	}
}

func (j *jobs) equal(what, got, want string) {
	j.t.Helper()
	if got != want {
		j.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// fails runs bpjob, which must fail with a message.
func (j *jobs) fails(line string, args ...string) {
	j.t.Helper()
	res := j.try(args...)
	if res.Code == 0 || !strings.Contains(res.Stderr, line) || strings.Count(res.Stderr, "\n") != 1 {
		j.t.Errorf("bpjob %v: exit code %d, %q, want %q", args, res.Code, res.Stderr, line)
	}
}

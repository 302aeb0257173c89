package bpsh_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bproc/internal/fakemaster"
	"bproc/wire"
)

func TestTasks(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		var found []string
		for _, v := range r.Command.Env {
			for _, name := range []string{"BPROC_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_NODELIST", "NODES", "JOBID"} {
				if strings.HasPrefix(v, name+"=") {
					found = append(found, v)
				}
			}
		}
		slices.Sort(found)
		c.Started()
		_ = c.Output(out, strings.Join(found, " ")+"\n")
		c.End(0)
	}))
	t.Setenv("JOBID", "77")
	t.Setenv("SLURM_PROCID", "9")
	want := ""
	for rank := range 4 {
		node := []int{5, 2}[rank/2]
		want += fmt.Sprintf("%3d: BPROC_RANK=%07d JOBID=77 NODES=5,2 PMI_RANK=%d PMI_SIZE=4 SLURM_JOB_ID=77 SLURM_LOCALID=%d SLURM_NODEID=%d SLURM_NODELIST=n5,n2 SLURM_NTASKS=4 SLURM_PROCID=%d\n",
			node, rank, rank, rank%2, rank/2, rank)
	}
	got := run(t, m.Client, strings.NewReader(""), "-sp", "--tasks-per-node", "2", "5,2", "cmd")
	if got.stdout != want || got.code != 0 {
		t.Errorf("got %+v, want\n%s", got, want)
	}
	got = run(t, m.Client, strings.NewReader(""), "5", "cmd")
	if want := "BPROC_RANK=0000000 JOBID=77 SLURM_PROCID=9\n"; got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}

// TestTaskVariables compares the environment of the last of four commands with a list, and the list
// with the document.
func TestTaskVariables(t *testing.T) {
	job := strconv.Itoa(os.Getpid())
	want := map[string]string{
		"BPROC_RANK": "0000003", "BPROC_PROGNAME": "cmd", "NODES": "5,2", "JOBID": job,
		"PMI_RANK": "3", "PMI_SIZE": "4",
		"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURMD_NODENAME": "n2",
		"SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_STEP_NUM_TASKS": "4",
		"SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_STEP_NUM_NODES": "2",
		"SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
		"SLURM_JOB_NODELIST": "n5,n2", "SLURM_NODELIST": "n5,n2", "SLURM_STEP_NODELIST": "n5,n2",
		"SLURM_JOB_ID": job, "SLURM_JOBID": job, "SLURM_STEP_ID": "0",
	}
	var mu sync.Mutex
	got := map[string]string{}
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		if slices.Contains(r.Command.Env, "PMI_RANK=3") {
			mu.Lock()
			for _, v := range r.Command.Env {
				name, value, _ := strings.Cut(v, "=")
				if _, before := os.LookupEnv(name); !before {
					got[name] = value
				}
			}
			mu.Unlock()
		}
		c.Started()
		c.End(0)
	}))
	if r := run(t, m.Client, strings.NewReader(""), "--tasks-per-node", "2", "5,2", "cmd"); r != (result{}) {
		t.Errorf("got %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	document, err := os.ReadFile("../../../docs/launchers.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if !strings.Contains(string(document), "`"+name+"`") {
			t.Errorf("docs/launchers.md has no %s", name)
		}
	}
}

package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestJobsOutliveDaemons ends and restarts daemons under a process that writes: it goes on, and its
// log is complete.
func TestJobsOutliveDaemons(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 1)
	const lines = 500
	j.write("writer", process("writer", fmt.Sprintf("for i in $(seq %d); do echo $i; echo $i >&2; sleep 0.02; done", lines)))
	j.run("start", "-N", "0", "writer")
	j.awaitLog("writer", "stdout", "\n20\n")
	again(t, j.Cluster, false)
	if err := j.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := j.StartSlave(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	again(t, j.Cluster, true)
	k := j.await("writer", "finished", func(k jobStatus) bool { return k.State == "finished" })
	if k.Runs != 1 {
		t.Errorf("got %+v", k)
	}
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if got := j.log("writer", stream); got != want.String() {
			t.Errorf("%s: got %q", stream, got)
		}
	}
}

// TestJobsOutliveNodes cuts one node off and switches another one off: processes then run elsewhere
// as their rules say, once they have ended there.
func TestJobsOutliveNodes(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "lease 3\n"}), t: t}
	const rule = "restart: {when: on-failure, delay: 100ms, max_delay: 1s}"
	j.write("moves", process("moves", "exec sleep 3001", rule))
	j.write("stays", process("stays", "exec sleep 3002"))
	j.run("start", "-N", "0,1", "moves")
	j.run("start", "-N", "0", "stays")
	if k := j.status("moves"); k.Node == nil || *k.Node != 0 {
		t.Fatalf("got %+v", k)
	}
	if err := j.Cut(0); err != nil {
		t.Fatal(err)
	}
	j.await("moves", "running on node 1", func(k jobStatus) bool { return k.State == "running" && *k.Node == 1 })
	j.equal("left on node 0", j.on(j.Nodes[0], "pgrep", "-fx", "sleep 300.").Stdout, "")
	k := j.await("stays", "failed", func(k jobStatus) bool { return k.State == "failed" })
	if k.Exit.Cause != "node down" {
		t.Errorf("got %+v", *k.Exit)
	}
	if err := j.Heal(0); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := j.Nodes[1].Off(); err != nil {
		t.Fatal(err)
	}
	j.await("moves", "running on node 0 again", func(k jobStatus) bool { return k.State == "running" && *k.Node == 0 })
	j.run("start", "-N", "0", "stays")
	j.run("stop", "moves")
	j.run("stop", "stays")
	j.comesBack(1)
}

// comesBack switches a node on.
func (j *jobs) comesBack(i int) {
	j.t.Helper()
	err := j.Nodes[i].Boot()
	if err == nil {
		err = j.StartSlave(j.t.Context(), i)
	}
	if err == nil {
		err = j.WaitUp(context.WithoutCancel(j.t.Context()), i)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

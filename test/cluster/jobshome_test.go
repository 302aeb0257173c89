package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestJobHome checks that all processes of a job are on one node, also after that node is gone.
func TestJobHome(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 3, MasterConfig: "lease 3\n"}), t: t}
	const rule = "restart: {when: on-failure, delay: 100ms, max_delay: 1s}}"
	job := "nodes: 0-2\nprocesses:\n"
	for _, name := range []string{"a", "b", "c"} {
		job += "- {name: " + name + ", executable: sleep, args: [1000], " + rule + "\n"
	}
	j.write("job", job)
	j.run("start", "-p", "a", "-N", "1", "job")
	j.run("start", "-p", "b", "job")
	where := func(p string) int { return *j.status("-p", p, "job").Node }
	if where("b") != 1 {
		t.Errorf("b is on node %d", where("b"))
	}
	j.fails("other processes of job job run on node 1, which is not one of \"0,2\"", "start", "-p", "c", "-N", "0,2", "job")
	j.run("start", "-p", "c", "job")
	j.run("stop", "-p", "a", "job")
	j.run("start", "-p", "a", "job")
	if err := j.Nodes[1].Off(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"a", "b", "c"} {
		j.awaitProcess("job", p, "running elsewhere", func(k jobStatus) bool { return k.State == "running" && *k.Node != 1 })
	}
	if where("a") != where("b") || where("b") != where("c") {
		t.Errorf("on nodes %d, %d and %d", where("a"), where("b"), where("c"))
	}
	for _, p := range []string{"a", "b", "c"} {
		j.run("stop", "-p", p, "job")
	}
	j.run("start", "-p", "a", "-N", "2", "job")
	if where("a") != 2 {
		t.Errorf("a is on node %d", where("a"))
	}
	j.run("stop", "-p", "a", "job")
}

// TestJobHookHome checks that a hook and its process are on the same node.
func TestJobHookHome(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 3)
	j.tool("job", "pre", "#!/bin/sh\nhostname\n")
	j.write("job", "nodes: random:1/0-2\n"+process("job", "hostname", "hooks: {pre_start: "+jobRoot+"/jobs/job/bin/pre}"))
	for range 6 {
		names := strings.Fields(j.run("run", "job"))
		if len(names) != 2 || names[0] != names[1] {
			t.Errorf("the hook and the process are on %v", names)
		}
	}
}

// TestJobLogsFull has output that does not fit on the disk: the process goes on, and bpjob says that
// output was lost.
func TestJobLogsFull(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 1)
	for _, name := range []string{"full", "there"} {
		dir := jobRoot + "/sys/log/" + name
		j.on(j.Front, "sh", "-c", "mkdir -p $0; mount -t tmpfs -o size=64k full $0", dir)
		t.Cleanup(func() { j.on(j.Front, "umount", "-l", dir) })
	}
	const lost = "output was lost: write " + jobRoot + "/sys/log/"
	j.start("full", "head -c 200000 /dev/zero; exec sleep 1000")
	k := j.await("full", "in trouble", func(k jobStatus) bool { return k.Trouble != "" })
	if want := lost + "full/full.stdout.log: no space left on device"; k.State != "running" || k.Trouble != want {
		t.Errorf("got %+v, want %q", k, want)
	}
	if text := j.run("status", "full"); !strings.Contains(text, "\ntrouble  "+lost) {
		t.Errorf("got %q", text)
	}
	for _, code := range []int{0, 7} {
		res := j.foreground("there", fmt.Sprintf("head -c 200000 /dev/zero; exit %d", code))
		if want := max(1, code); res.Code != want || len(res.Stdout) != 200000 || !strings.HasPrefix(res.Stderr, "bpjob: "+lost) {
			t.Errorf("got exit code %d, %q, want %d", res.Code, res.Stderr, want)
		}
	}
	j.run("stop", "full")
	j.on(j.Front, "rm", jobRoot+"/sys/log/full/full.stdout.log")
	j.start("full", "echo fits; exec sleep 1000")
	j.awaitLog("full", "stdout", "fits\n")
	if k := j.status("full"); k.Runs != 2 || k.Trouble != "" {
		t.Errorf("got %+v", k)
	}
}

// TestJobLogs rotates logs while a process writes: no line is missing.
func TestJobLogs(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 1)
	const lines = 3000
	j.write("writer", process("writer", fmt.Sprintf("for i in $(seq %d); do echo line $i; echo bad $i >&2; done", lines), "logs: {max_size: 4K, keep: 100}"))
	j.run("start", "-N", "0", "writer")
	j.await("writer", "finished", func(k jobStatus) bool { return k.State == "finished" })
	for stream, word := range map[string]string{"stdout": "line", "stderr": "bad"} {
		var want strings.Builder
		for i := range lines {
			fmt.Fprintln(&want, word, i+1)
		}
		log := jobRoot + "/sys/log/writer/writer." + stream + ".log"
		j.equal(stream, j.on(j.Front, "sh", "-c", "cat $(ls -v -r "+log+"*)").Stdout, want.String())
		// The rest of a line that comes in two parts is in the file of the first.
		j.equal("larger than 4 KiB and a line", j.on(j.Front, "sh", "-c", "find "+log+"* -size +4106c").Stdout, "")
	}
	j.equal("lines", strings.TrimSpace(j.run("logs", "-n", "1", "writer")), fmt.Sprintf("line %d", lines))
}

package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// bpmFile is a job file that was written for bpm.
const bpmFile = `processes:
- name: router
  executable: /var/vcap/packages/router/bin/router
  args:
  - --port
  - 2424
  env:
    FOO: BAR
  workdir: /var/vcap/data/router
  hooks:
    pre_start: /var/vcap/jobs/router/bin/pre-start
  limits:
    memory: 1G
    open_files: 100
    processes: 10
  ephemeral_disk: true
  persistent_disk: true
  additional_volumes:
  - path: /var/vcap/data/certificates
    writable: true
- name: worker
  executable: /bin/sh
  args: [-c, "exit 3"]
`

// TestBPM calls bpjob as bpm on a front end that is also a node: an existing job file works
// unchanged.
func TestBPM(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 1}), t: t}
	token, err := j.Enroll(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	bpm := func(u cluster.User, args ...string) cluster.Result {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit.Scaled(2*time.Minute))
		defer cancel()
		res, err := j.Front.Exec(ctx, u, append([]string{"env", "BPM_BOSH_ROOT=" + jobRoot, "/run/bpm"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	j.on(j.Front, "sh", "-c", "ln -s $(command -v bpjob) /run/bpm")
	j.write("router", strings.ReplaceAll(bpmFile, "/var/vcap", jobRoot))
	j.tool("router", "pre-start", "#!/bin/sh\necho ready to start\n")
	const noNode = "bpm: this machine is not a node, or its bpslave is not connected: bpm has its own processes only; use bpjob -N for those of other nodes\n"
	if res := bpm(cluster.Root, "start", "router"); res.Code != 1 || res.Stderr != noNode {
		t.Errorf("got %+v", res)
	}
	if _, err := j.Front.StartDaemon(t.Context(), true, "bpslave", "--join", token, "front"); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := j.Front.WriteFile(jobRoot+"/packages/router/bin/router", "#!/bin/sh\necho $0 \"$@\" $FOO\nexec sleep 1000\n", 0o755); err != nil {
		t.Fatal(err)
	}
	j.on(j.Front, "mkdir", "-p", jobRoot+"/store")
	for range 2 {
		if res := bpm(cluster.Root, "start", "router"); res.Code != 0 {
			t.Fatalf("got %+v", res)
		}
	}
	pid := bpm(cluster.Root, "pid", "router").Stdout
	j.equal("PID file", j.on(j.Front, "cat", jobRoot+"/sys/run/bpm/router/router.pid").Stdout+"\n", pid)
	list := bpm(cluster.Root, "list").Stdout
	if lines := strings.Split(list, "\n"); len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "Name Pid Status" ||
		strings.Join(strings.Fields(lines[1]), " ") != "router "+strings.TrimSpace(pid)+" running" || strings.Join(strings.Fields(lines[2]), " ") != "router.worker - created" {
		t.Errorf("got %q", list)
	}
	j.awaitLog("router", "stdout", "BAR\n")
	j.equal("log", bpm(cluster.Root, "logs", "router").Stdout, "ready to start\n"+jobRoot+"/packages/router/bin/router --port 2424 BAR\n")
	if res := bpm(cluster.Root, "run", "-p", "worker", "router"); res.Code != 3 {
		t.Errorf("got %+v", res)
	}
	for range 2 {
		if res := bpm(cluster.Root, "stop", "router"); res.Code != 0 {
			t.Errorf("got %+v", res)
		}
	}
	for _, tt := range []struct {
		user cluster.User
		args string
		code int
		want string
	}{
		{cluster.Alice, "list", 1, "bpm: bpm must be run as root. Please run 'sudo -i' to become the root user\n"},
		{cluster.Root, "start", 1, "bpm: must specify a job\n"},
		{cluster.Root, "pid router", 1, "bpm: process is not running or could not be found\n"},
		{cluster.Root, "start -p x router", 1, "bpm: process \"x\" not present in job configuration (" + jobRoot + "/jobs/router/config/bpm.yml)\n"},
	} {
		if res := bpm(tt.user, strings.Fields(tt.args)...); res.Code != tt.code || res.Stderr != tt.want {
			t.Errorf("bpm %s: got %+v", tt.args, res)
		}
	}
	if res := bpm(cluster.Root); res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "Usage:") {
		t.Errorf("got %+v", res)
	}
	if res := bpm(cluster.Root, "version"); res.Code != 0 || !strings.HasPrefix(res.Stdout, "bpm ") {
		t.Errorf("got %+v", res)
	}
}

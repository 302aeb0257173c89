package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// serve starts the service for jobs.
func (j *jobs) serve() *cluster.Daemon {
	j.t.Helper()
	d, err := j.Front.StartDaemon(j.t.Context(), true, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "serve")
	if err != nil {
		j.t.Fatal(err)
	}
	return d
}

// as runs bpjob as a user.
func (j *jobs) as(u cluster.User, args ...string) cluster.Result {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.t.Context()), limit.Scaled(2*time.Minute))
	defer cancel()
	res, err := j.Front.Exec(ctx, u, append([]string{"env", "BPJOB_ROOT=" + jobRoot, "bpjob"}, args...)...)
	if err != nil {
		j.t.Fatalf("bpjob %v: %v", args, err)
	}
	return res
}

// own writes a job file of Alice's.
func (j *jobs) own(name, text string) {
	j.t.Helper()
	j.write(name, text)
	j.on(j.Front, "chown", "-R", "12345:12345", jobRoot+"/jobs/"+name)
}

// tells checks that a command of Alice's fails with a message.
func (j *jobs) tells(line string, args ...string) {
	j.t.Helper()
	if res := j.as(cluster.Alice, args...); res.Code != 1 || res.Stderr != "bpjob: "+line+"\n" {
		j.t.Errorf("bpjob %v: got %+v, want %q", args, res, line)
	}
}

// TestJobUsers has the cases of users other than root.
func TestJobUsers(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 2)
	j.own("alone", process("alone", "true"))
	j.tells("the service for jobs of ordinary users (bproc-jobs) does not run: root starts it with 'systemctl enable --now bproc-jobs' or 'bpjob serve'", "start", "-N", "0", "alone")
	j.serve()
	j.suite(jobUsers)
}

var jobUsers = []jobCase{
	{"start, look, stop", func(j *jobs, n string) {
		j.own(n, process(n, "echo begun; exec sleep 1000", "limits: {open_files: 77, processes: 10, memory: 64M}"))
		if res := j.as(cluster.Alice, "start", "-N", "0", n); res != (cluster.Result{}) {
			j.t.Fatalf("got %+v", res)
		}
		if res := j.as(cluster.Alice, "start", "-N", "0", n); res.Code != 0 || res.Stderr != "bpjob: process "+n+" is running already\n" {
			j.t.Errorf("got %+v", res)
		}
		pid := strings.TrimSpace(j.as(cluster.Alice, "pid", n).Stdout)
		j.equal("user", strings.TrimSpace(j.on(j.Front, "ps", "-o", "uid=", "-p", pid).Stdout), "12345")
		if list := j.as(cluster.Alice, "list").Stdout; !strings.Contains(list, n+"  "+pid+"  running") && !strings.Contains(list, n) {
			j.t.Errorf("got %s", list)
		}
		run, log := jobRoot+"/sys/run/bpm/"+n+"/"+n, jobRoot+"/sys/log/"+n+"/"+n
		j.equal("owners", j.on(j.Front, "stat", "-c", "%u %a", run+".pid", log+".stdout.log", run+".lock").Stdout, "12345 644\n12345 600\n0 600\n")
		j.awaitLog(n, "stdout", "begun\n")
		j.equal("log", j.as(cluster.Alice, "logs", n).Stdout, "begun\n")
		if res := j.as(cluster.Alice, "stop", n); res != (cluster.Result{}) {
			j.t.Errorf("got %+v", res)
		}
		j.equal("state", j.status(n).State, "stopped")
	}},
	{"kill and rule", func(j *jobs, n string) {
		j.own(n, process(n, "exec sleep 1000", "restart: {when: always, delay: 100ms}"))
		j.as(cluster.Alice, "start", "-N", "0", n)
		pid := j.status(n).PID
		if res, err := j.Front.Exec(j.t.Context(), cluster.Alice, "kill", "-9", strings.TrimSpace(j.as(cluster.Alice, "pid", n).Stdout)); err != nil || res.Code != 0 {
			j.t.Fatal(res, err)
		}
		j.await(n, "running again", func(k jobStatus) bool { return k.State == "running" && k.PID != pid })
		j.as(cluster.Alice, "restart", "-N", "1", n)
		if k := j.status(n); *k.Node != 1 || k.State != "running" {
			j.t.Errorf("got %+v", k)
		}
		j.as(cluster.Alice, "stop", n)
	}},
	{"a job whose file is gone", func(j *jobs, n string) {
		j.own(n, process(n, "exec sleep 1000"))
		j.as(cluster.Alice, "start", "-N", "0", n)
		j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n)
		if res := j.as(cluster.Bob, "stop", n); res.Code != 1 {
			j.t.Errorf("of another user: got %+v", res)
		}
		j.equal("state", j.status(n).State, "running")
		if res := j.as(cluster.Alice, "stop", n); res != (cluster.Result{}) {
			j.t.Errorf("got %+v", res)
		}
		j.equal("state", j.status(n).State, "stopped")
	}},
	{"other users' jobs", func(j *jobs, n string) {
		j.own(n, process(n, "exec sleep 1000"))
		j.as(cluster.Alice, "start", "-N", "0", n)
		line := "bpjob: job " + n + " is not yours: only root and the owner of " + jobRoot + "/jobs/" + n + "/config/bpm.yml can do this\n"
		for _, command := range []string{"start", "stop", "restart", "run", "shell"} {
			if res := j.as(cluster.Bob, command, n); res.Code != 1 || res.Stderr != line {
				j.t.Errorf("%s: got %+v", command, res)
			}
		}
		if res := j.as(cluster.Bob, "logs", n); res.Code == 0 {
			j.t.Errorf("got %+v", res)
		}
		if k := j.status(n); k.State != "running" || k.Runs != 1 {
			j.t.Errorf("got %+v", k)
		}
		j.run("stop", n)
		j.write(n+"b", process(n+"b", "true"))
		j.tells("job "+n+"b is not yours: only root and the owner of "+jobRoot+"/jobs/"+n+"b/config/bpm.yml can do this", "start", n+"b")
	}},
	{"what only root can have", func(j *jobs, n string) {
		for keys, line := range map[string]string{
			"capabilities: [NET_BIND_SERVICE]":                      "only root can start what has capabilities",
			"unsafe: {privileged: true}":                            "only root can start what has unsafe.privileged",
			"unsafe: {unrestricted_volumes: [{path: /var/lib/no}]}": "only root can start what has unsafe.unrestricted_volumes",
		} {
			j.own(n, process(n, "true", keys))
			j.tells("process "+n+": "+line, "start", "-N", "0", n)
			j.tells("process "+n+": "+line, "run", "-N", "0", n)
		}
		j.own(n, process(n, "true"))
		j.tells("process "+n+": only root can start what has unsafe.unrestricted_volumes", "run", "-N", "0", "-v", "/root", n)
		if res, err := j.Front.Exec(j.t.Context(), cluster.Alice, "env", "BPJOB_ROOT=/opt/mine", "bpjob", "start", n); err != nil || res.Stderr != "bpjob: jobs of ordinary users are below "+jobRoot+", not below /opt/mine\n" {
			j.t.Errorf("got %+v, %v", res, err)
		}
	}},
	{"run", func(j *jobs, n string) {
		j.own(n, process(n, "id -u; echo $A >&2; exit 7"))
		if res := j.as(cluster.Alice, "run", "-N", "0", "-e", "A=a", n); res.Code != 7 || res.Stdout != "12345\n" || res.Stderr != "a\n" {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"SIGINT ends what runs in the foreground", func(j *jobs, n string) {
		j.own(n, process(n, "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.1; done"))
		ended := make(chan cluster.Result, 1)
		go func() { ended <- j.as(cluster.Alice, "run", "-N", "0", n) }()
		j.awaitLog(n, "stdout", "ready\n")
		j.on(j.Front, "pkill", "-INT", "-u", "alice", "-fx", "bpjob run -N 0 "+n)
		if res := <-ended; res.Code != 3 || res.Stdout != "ready\nbye\n" {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"a user who is gone leaves nothing in the foreground", func(j *jobs, n string) {
		j.own(n, process(n, "echo ready; exec sleep 1000"))
		ended := make(chan cluster.Result, 1)
		go func() { ended <- j.as(cluster.Alice, "run", "-N", "0", n) }()
		j.awaitLog(n, "stdout", "ready\n")
		j.on(j.Front, "pkill", "-KILL", "-u", "alice", "-fx", "bpjob run -N 0 "+n)
		<-ended
		j.await(n, "stopped", func(k jobStatus) bool { return k.State == "stopped" })
	}},
	{"a hook is the user's", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\nid -u; grep CapBnd /proc/self/status; touch /etc/no 2>/dev/null && echo written; exit 0\n")
		j.own(n, process(n, "echo process", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}"))
		if res := j.as(cluster.Alice, "run", "-N", "0", n); res.Stdout != "12345\nCapBnd:\t0000000000000000\nprocess\n" {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"the files of a job are copied as the user", func(j *jobs, n string) {
		dir := jobRoot + "/jobs/" + n
		j.tool(n, "tool", "#!/bin/sh\necho tool\n")
		j.own(n, process(n, "tool"))
		j.equal("output", j.as(cluster.Alice, "run", "-N", "1", n).Stdout, "tool\n")
		j.equal("owner", j.on(j.Nodes[1], "stat", "-c", "%u", dir, dir+"/bin/tool").Stdout, "12345\n12345\n")
		j.on(j.Front, "sh", "-c", "echo secret >"+dir+"/secret; chmod 600 "+dir+"/secret")
		if res := j.as(cluster.Alice, "run", "-N", "1", n); res.Code == 0 {
			j.t.Errorf("got %+v", res)
		}
		if res := j.on(j.Nodes[1], "cat", dir+"/secret"); res.Code == 0 {
			j.t.Errorf("got %+v", res)
		}
		j.on(j.Front, "rm", dir+"/secret")
		j.on(j.Nodes[0], "sh", "-c", "mkdir -p "+dir+"x; ln -s "+n+"x "+dir)
		j.tells("process "+n+": node 0: "+dir+" is a link to a directory of user 0: give the directory to user 12345", "start", "-N", "0", n)
		j.equal("owner", j.on(j.Nodes[0], "stat", "-c", "%u", dir+"x").Stdout, "0\n")
	}},
	{"modes and owners of files reach the node", func(j *jobs, n string) {
		dir := jobRoot + "/jobs/" + n
		j.tool(n, "tool", "#!/bin/sh\necho tool\n")
		j.write(n, process(n, "tool"))
		same := func() {
			j.t.Helper()
			j.run("run", "-N", "1", n)
			const stat = "cd $0; find . | sort | xargs stat -c '%n %u %g %a'"
			j.equal("files", j.on(j.Nodes[1], "sh", "-c", stat, dir).Stdout, j.on(j.Front, "sh", "-c", stat, dir).Stdout)
		}
		same()
		for _, change := range []string{"chmod 700 $0", "chmod 2750 $0/bin", "chown 12345 $0/bin", "chgrp 12346 $0/bin/tool", "chmod 4755 $0/bin/tool", "ln -s x $0/link; chown -h 12345 $0/link", "chown -R 12345:12345 $0"} {
			j.on(j.Front, "sh", "-c", change, dir)
			same()
		}
		j.on(j.Front, "sh", "-c", "chown -R 0:0 $0; chmod 755 $0 $0/bin; chown -h 12345:12345 $0/link $0/config/bpm.yml", dir)
		if res := j.as(cluster.Alice, "run", "-N", "1", n); res.Stdout != "tool\n" {
			j.t.Errorf("got %+v", res)
		}
		j.equal("owner of the copy", j.on(j.Nodes[1], "stat", "-c", "%u", dir+"/bin/tool").Stdout, "12345\n")
	}},
	{"a privileged process beside others", func(j *jobs, n string) {
		text := "- {name: root, executable: id, args: [-u], unsafe: {privileged: true}}\n"
		j.own(n, process(n, "id -u >/tmp/f; cat /tmp/f")+text)
		for range 2 {
			j.equal("privileged", j.run("run", "-N", "0", "-p", "root", n), "0\n")
			j.equal("other", j.run("run", "-N", "0", n), "12345\n")
		}
	}},
	{"a privileged process that is there before others", func(j *jobs, n string) {
		root := "- {name: root, executable: sh, args: [-c, \"while read x; do echo $x; done </tmp/f; exec sleep 1000\"], unsafe: {privileged: true}, logs: {max_size: 20B}}\n"
		j.own(n, process(n, "true")+root)
		j.on(j.Nodes[0], "sh", "-c", "mkdir -p "+jobRoot+"/data/"+n+"/tmp; mkfifo "+jobRoot+"/data/"+n+"/tmp/f")
		j.run("start", "-N", "0", "-p", "root", n)
		j.run("run", "-N", "0", n)                                                // takes the logs
		j.on(j.Nodes[0], "sh", "-c", "seq 100 120 >"+jobRoot+"/data/"+n+"/tmp/f") // begins them anew
		j.awaitProcess(n, "root", "running", func(k jobStatus) bool { return k.State == "running" && k.Trouble == "" })
		j.run("stop", "-p", "root", n)
		if k := j.status("-p", "root", n); k.Trouble != "" {
			j.t.Errorf("got %+v", k)
		}
		j.run("start", "-N", "0", "-p", "root", n)
		j.run("stop", "-p", "root", n)
		j.equal("events", j.on(j.Front, "grep", "-c", `"process":"root"`, jobRoot+"/sys/log/"+n+"/bpm.log").Stdout, "8\n")
	}},
	{"a job gets another owner", func(j *jobs, n string) {
		dir, data, store := jobRoot+"/jobs/"+n, jobRoot+"/data/"+n, jobRoot+"/store"
		j.on(j.Nodes[0], "mkdir", "-p", store)
		script := "id -u; for d in /tmp " + data + " " + store + "/" + n + " " + jobRoot + "/sys/log/" + n + "; do echo $USER >$d/of-$(id -u) || exit 9; done; tool"
		text := process(n, script, "ephemeral_disk: true", "persistent_disk: true", "logs: {max_size: 10B, keep: 1}")
		j.tool(n, "tool", "#!/bin/sh\necho tool\n")
		j.write(n, text)
		j.equal("root's", j.run("run", "-N", "0", n), "0\ntool\n")
		j.own(n, text)
		if res := j.as(cluster.Alice, "run", "-N", "0", n); res != (cluster.Result{Stdout: "12345\ntool\n"}) {
			j.t.Fatalf("Alice: got %+v", res)
		}
		j.on(j.Nodes[0], "sh", "-c", "chmod 777 "+data+"; chmod 700 "+dir+" "+dir+"/bin")
		j.on(j.Front, "chown", "-R", "12346:12346", dir)
		if res := j.as(cluster.Bob, "run", "-N", "0", n); res != (cluster.Result{Stdout: "12346\ntool\n"}) {
			j.t.Fatalf("Bob: got %+v", res)
		}
		j.equal("directories", j.on(j.Nodes[0], "stat", "-c", "%u %a", data, data+"/tmp", store+"/"+n, jobRoot+"/sys/log/"+n).Stdout,
			strings.Repeat("12346 700\n", 4))
		j.equal("contents", j.on(j.Nodes[0], "stat", "-c", "%u", data+"/tmp/of-12345", store+"/"+n+"/of-12345").Stdout, "12345\n12345\n")
		j.equal("files", j.on(j.Nodes[0], "stat", "-c", "%u", dir, dir+"/bin", dir+"/bin/tool").Stdout, strings.Repeat("12346\n", 3))
		log := jobRoot + "/sys/log/" + n
		j.equal("logs", j.on(j.Front, "sh", "-c", "stat -c '%u %a' "+log+" "+log+"/*").Stdout, "12346 755\n"+strings.Repeat("12346 600\n", 4))
	}},
	{"volumes are not made", func(j *jobs, n string) {
		v := jobRoot + "/data/of-" + n
		j.own(n, process(n, "echo x >"+v+"/f || exit 9", "additional_volumes: [{path: "+v+", writable: true}]"))
		if res := j.as(cluster.Alice, "run", "-N", "0", n); res.Code == 0 || !strings.Contains(res.Stderr, "volume "+v) {
			j.t.Errorf("got %+v", res)
		}
		j.on(j.Nodes[0], "mkdir", "-p", v)
		if res := j.as(cluster.Alice, "run", "-N", "0", n); res.Code != 9 {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"a volume below a directory that is closed to the user", func(j *jobs, n string) {
		v := jobRoot + "/data/of-" + n + "/open"
		j.on(j.Nodes[0], "sh", "-c", "mkdir -p "+v+"; echo secret >"+v+"/f; chmod 700 "+jobRoot+"/data/of-"+n)
		j.own(n, process(n, "cat "+v+"/f", "additional_volumes: [{path: "+v+"}]"))
		if res := j.as(cluster.Alice, "run", "-N", "0", n); res.Stdout != "" || !strings.Contains(res.Stderr, "volume "+v+": open "+v+": permission denied") {
			j.t.Errorf("got %+v", res)
		}
		j.on(j.Nodes[0], "chmod", "711", jobRoot+"/data/of-"+n)
		j.equal("says", j.as(cluster.Alice, "run", "-N", "0", n).Stdout, "secret\n")
	}},
	{"nodes that are not the user's", func(j *jobs, n string) {
		j.own(n, process(n, "true"))
		j.on(j.Front, "bpctl", "-S", "1", "--mode", "0110")
		defer j.on(j.Front, "bpctl", "-S", "1", "--mode", "0111")
		j.tells("process "+n+": no node of \"1\" is up and yours to use", "start", "-N", "1", n)
	}},
	{"a shell", func(j *jobs, n string) {
		j.own(n, process(n, "exec sleep 1000"))
		j.as(cluster.Alice, "start", "-N", "0", n)
		cmd := j.Front.Command(j.t.Context(), cluster.Alice, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "shell", n)
		cmd.Stdin = strings.NewReader("pwd; id -u; " + statusOf("CapBnd|NoNewPrivs") + "; exit 3\n")
		res, err := cmd.Result()
		if err != nil {
			j.t.Fatal(err)
		}
		if res.Code != 3 || res.Stdout != jobRoot+"/jobs/"+n+"\n12345\nCapBnd: 0000000000000000\nNoNewPrivs: 1\n" {
			j.t.Errorf("got %+v", res)
		}
		j.as(cluster.Alice, "stop", n)
	}},
	{"a job file that is no file", func(j *jobs, n string) {
		j.own(n, "")
		file := jobRoot + "/jobs/" + n + "/config/bpm.yml"
		j.on(j.Front, "sh", "-c", "rm "+file+"; mkfifo "+file+"; chown 12345 "+file)
		j.tells("job file: "+file+" is not a file", "start", n)
		j.on(j.Front, "sh", "-c", "rm "+file+"; ln -s /etc/shadow "+file)
		j.tells("job file: "+file+": there is a symbolic link below "+jobRoot+"/jobs/"+n, "start", n)
		j.on(j.Front, "sh", "-c", "cd "+jobRoot+"/jobs/"+n+"; mkdir -p ../"+n+"z; mv config ../"+n+"z; ln -s ../"+n+"z/config config")
		j.tells("job file: "+file+": there is a symbolic link below "+jobRoot+"/jobs/"+n, "start", n)
		j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n+"z", jobRoot+"/jobs/"+n)
	}},
	{"nobody else can take a lock", func(j *jobs, n string) {
		j.own(n, process(n, "true"))
		j.as(cluster.Alice, "run", "-N", "0", n)
		locks := jobRoot + "/sys/run/bpm/" + n + "/"
		for _, lock := range []string{n + ".lock", n + ".request", ".home", ".choice"} {
			if res, err := j.Front.Exec(j.t.Context(), cluster.Alice, "cat", locks+lock); err != nil || res.Code == 0 {
				j.t.Errorf("%s: got %+v, %v", lock, res, err)
			}
		}
	}},
}

// TestJobAutostart has a job with autostart start when its node comes up, and on another node when
// that is gone.
func TestJobAutostart(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "lease 3\n"}), t: t}
	if err := j.Nodes[1].Off(); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitDown(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	j.write("unmarked", "nodes: 1\n"+process("unmarked", "exec sleep 1000"))
	j.write("marked", "nodes: 1,0\nautostart: true\n"+process("marked", "exec sleep 1000"))
	j.own("hers", "nodes: 1\nautostart: true\n"+process("hers", "id -u; exec sleep 1000"))
	j.own("greedy", "nodes: 1\nautostart: true\n"+process("greedy", "exec sleep 1000", "unsafe: {privileged: true}"))
	j.write("stopped", "nodes: 1,0\nautostart: true\n"+process("stopped", "exec sleep 1000"))
	j.run("start", "stopped")
	j.run("stop", "stopped")
	j.write("once", "nodes: 1\nautostart: true\n"+process("once", "exit 0"))
	d := j.serve()
	j.await("marked", "running on node 0 when the service starts", func(k jobStatus) bool { return k.State == "running" && *k.Node == 0 })
	j.comesBack(1)
	j.await("hers", "running", func(k jobStatus) bool { return k.State == "running" && *k.Node == 1 })
	j.awaitLog("hers", "stdout", "12345\n")
	for _, job := range []string{"unmarked", "greedy"} {
		j.equal("state of "+job, j.status(job).State, "created")
	}
	j.equal("state of stopped", j.status("stopped").State, "stopped")
	j.run("stop", "marked")
	j.run("start", "-N", "1", "marked")
	if err := j.Nodes[1].Off(); err != nil {
		t.Fatal(err)
	}
	j.await("marked", "running on node 0", func(k jobStatus) bool { return k.State == "running" && *k.Node == 0 })
	j.await("hers", "failed", func(k jobStatus) bool { return k.State == "failed" })
	j.comesBack(1)
	j.await("hers", "running again", func(k jobStatus) bool { return k.State == "running" && k.Runs == 2 })
	twice := func(k jobStatus) bool { return k.State == "finished" && k.Runs == 2 }
	j.await("once", "finished again", twice)
	ends := func() {
		if err := d.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := d.AwaitEnd(); err != nil {
			t.Fatal(err)
		}
	}
	ends()
	j.equal("state after the service", j.status("hers").State, "running")
	if err := j.Cut(1); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitDown(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	j.await("hers", "failed with its node", func(k jobStatus) bool { return k.State == "failed" })
	d = j.serve()
	if err := j.Heal(1); err != nil {
		t.Fatal(err)
	}
	j.await("hers", "running once more", func(k jobStatus) bool { return k.State == "running" && k.Runs == 3 })
	ends()
	if k := j.status("once"); !twice(k) {
		t.Errorf("its node was only cut off: got %+v", k)
	}
}

// TestJobTrust checks that a job's process has its user also on a node with limited trust.
func TestJobTrust(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 1, Limited: true}), t: t}
	j.own("job", process("job", "exec sleep 1000"))
	j.run("start", "-N", "0", "job")
	pid := strings.TrimSpace(j.run("pid", "job"))
	j.equal("user", strings.TrimSpace(j.on(j.Front, "ps", "-o", "uid=", "-p", pid).Stdout), "12345")
	if res, err := j.Front.Exec(t.Context(), cluster.Alice, "kill", "-9", pid); err != nil || res.Code != 0 {
		t.Error(res, err)
	}
	j.await("job", "failed", func(k jobStatus) bool { return k.State == "failed" })
}

// TestJobHere runs a job of Alice's on a front end that is also a node. The directory with its files is
// root's, who has given her only the job file, and stays root's: nothing is copied to it.
func TestJobHere(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 1)
	token, err := j.Enroll(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Front.StartDaemon(t.Context(), true, "bpslave", "--join", token, "front"); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	j.serve()
	dir := jobRoot + "/jobs/here"
	j.tool("here", "tool", "#!/bin/sh\nid -u\n")
	j.write("here", process("here", "tool"))
	j.on(j.Front, "chown", "12345:12345", dir+"/config/bpm.yml")
	for _, more := range []string{"", "cd " + dir + "; for i in $(seq 1500); do echo >$(printf '%0100d' $i); done"} { // sums that do not fit into a variable
		j.on(j.Front, "sh", "-c", more)
		if res := j.as(cluster.Alice, "run", "-N", "1", "here"); res != (cluster.Result{Stdout: "12345\n"}) {
			t.Errorf("got %+v", res)
		}
	}
	j.equal("owners", j.on(j.Front, "stat", "-c", "%u", dir, dir+"/bin", dir+"/bin/tool", dir+"/config/bpm.yml").Stdout, "0\n0\n0\n12345\n")
}

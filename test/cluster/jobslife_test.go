package cluster_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestJobLife has the cases of how jobs' processes start and end.
func TestJobLife(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 3)
	slow := j.startSlow()
	j.suite(lifeCases)
	for _, s := range slow {
		t.Run(s.name, func(t *testing.T) {
			if <-s.done; s.say != "" {
				t.Error(s.say)
			}
		})
	}
}

var lifeCases = slices.Concat(jobStarts, jobHooks, jobStops, jobSignals, jobRestarts, jobRaces, jobCommands)

var jobStarts = []jobCase{
	{"start is idempotent", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		pid := j.run("pid", n)
		res := j.try("start", "-N", j.at(), n)
		if res.Code != 0 || res.Stderr != "bpjob: process "+n+" is running already\n" {
			j.t.Errorf("got %+v", res)
		}
		j.equal("number", j.run("pid", n), pid)
	}},
	{"start of what dies at once succeeds", func(j *jobs, n string) {
		j.write(n, process(n, "exit 3"))
		j.run("start", "-N", j.at(), n)
		k := j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		if k.Exit.Code != 3 || k.PID != 0 {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"an end without failure", func(j *jobs, n string) {
		j.write(n, process(n, "true"))
		j.run("start", "-N", j.at(), n)
		j.await(n, "finished", func(k jobStatus) bool { return k.State == "finished" })
	}},
	{"run has the exit code of the process", func(j *jobs, n string) {
		for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
			if res := j.foreground(n, script); res.Code != code || res.Stderr != "" {
				j.t.Errorf("%s: got %+v", script, res)
			}
		}
	}},
	{"run writes to the logs, too", func(j *jobs, n string) {
		res := j.foreground(n, "echo out; echo err >&2")
		if res.Stdout != "out\n" || res.Stderr != "err\n" {
			j.t.Errorf("got %+v", res)
		}
		j.equal("standard output", j.log(n, "stdout"), "out\n")
		j.equal("standard error", j.log(n, "stderr"), "err\n")
	}},
	{"run of what runs fails", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		j.fails("bpjob: process "+n+" is running already", "run", "-N", j.at(), n)
	}},
	{"PID file", func(j *jobs, n string) {
		file := jobRoot + "/sys/run/bpm/" + n + "/" + n + ".pid"
		j.start(n, "exec sleep 1000")
		j.equal("PID file", j.on(j.Front, "cat", file).Stdout+"\n", j.run("pid", n))
		j.run("stop", n)
		j.equal("PID file", j.on(j.Front, "ls", jobRoot+"/sys/run/bpm/"+n).Stdout, n+".json\n"+n+".lock\n"+n+".request\n")
		j.fails("process is not running or could not be found", "pid", n)
	}},
	{"two starts at once", func(j *jobs, n string) {
		j.write(n, process(n, "echo begin; exec sleep 1000"))
		var both sync.WaitGroup
		for range 3 {
			both.Go(func() { j.try("start", "-N", j.at(), n) })
		}
		both.Wait()
		j.awaitLog(n, "stdout", "begin\n")
		j.equal("log", j.log(n, "stdout"), "begin\n")
		if k := j.status(n); k.Runs != 1 || k.State != "running" {
			j.t.Errorf("got %+v", k)
		}
		j.run("stop", n)
	}},
	{"processes of a job", func(j *jobs, n string) {
		j.write(n, "nodes: 0,1\nprocesses:\n- {name: a, executable: sleep, args: [1000]}\n- {name: b, executable: sleep, args: [1001]}\n")
		j.fails("process \""+n+"\" not present in job configuration ("+jobRoot+"/jobs/"+n+"/config/bpm.yml)", "start", n)
		j.run("start", "-p", "a", n)
		j.run("start", "-p", "b", n)
		list := j.run("list")
		for _, name := range []string{n + ".a", n + ".b"} {
			if !strings.Contains(list, name+" ") {
				j.t.Errorf("%s is not in\n%s", name, list)
			}
		}
		j.run("stop", "-p", "a", n)
		j.equal("state of the other", j.status("-p", "b", n).State, "running")
		j.run("stop", "-p", "b", n)
	}},
}

var jobHooks = []jobCase{
	{"a hook is run before the process, as root, with its environment", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\necho hook $(id -u) $ONE $TMPDIR; touch /run/made-"+n+"\n")
		got := j.says(n, "echo process; test -e /run/made-"+n+" || echo unseen", "env: {ONE: 1}\nhooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}")
		j.equal("output", got, "hook 0 1 "+jobRoot+"/data/"+n+"/tmp\nprocess\nunseen\n")
	}},
	{"a hook that fails", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\necho no disk >&2; exit 4\n")
		j.write(n, process(n, "echo process", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}"))
		j.fails("process "+n+": exit 4 (pre_start failed)", "start", "-N", j.at(), n)
		if res := j.try("run", "-N", j.at(), n); res.Code != 4 || res.Stdout != "" || res.Stderr != "no disk\nbpjob: process "+n+": exit 4 (pre_start failed)\n" {
			j.t.Errorf("got %+v", res)
		}
		j.equal("log", j.log(n, "stderr"), "no disk\nno disk\n")
	}},
	{"a hook that is missing", func(j *jobs, n string) {
		j.write(n, process(n, "true", "hooks: {pre_start: /nowhere}"))
		j.fails("process "+n+": pre_start failed: node "+j.at()+": /nowhere is not on the node", "start", "-N", j.at(), n)
	}},
	{"a hook has the directories of the job", func(j *jobs, n string) {
		j.on(j.machine(), "mkdir", "-p", jobRoot+"/store")
		j.tool(n, "pre", "#!/bin/sh\necho made >$TMPDIR/f && cp $TMPDIR/f "+jobRoot+"/store/"+n+"/f && cp $TMPDIR/f "+jobRoot+"/sys/log/"+n+"/f\n")
		j.equal("files", j.says(n, "cat /tmp/f "+jobRoot+"/store/"+n+"/f "+jobRoot+"/sys/log/"+n+"/f", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}", "persistent_disk: true"),
			"made\nmade\nmade\n")
	}},
	{"a stop ends a hook with all that it has started", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\necho began\nsleep 1007 & sleep 1007\n")
		j.write(n, process(n, "echo process", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}"))
		var start sync.WaitGroup
		start.Go(func() { j.try("run", "-N", j.at(), n) })
		j.await(n, "starting", func(k jobStatus) bool { return k.State == "starting" })
		j.awaitLog(n, "stdout", "began\n")
		j.run("stop", n)
		start.Wait()
		j.equal("log", j.log(n, "stdout"), "began\n")
		j.equal("left", j.on(j.machine(), "pgrep", "-fx", "sleep 1007").Stdout, "")
	}},
	{"a stop ends a hook that has not begun", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\nexec sleep 1008\n")
		j.write(n, process(n, "echo process", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}"))
		var start sync.WaitGroup
		start.Go(func() { j.try("start", "-N", j.at(), n) })
		j.await(n, "starting", func(k jobStatus) bool { return k.State == "starting" })
		j.run("stop", n)
		start.Wait()
		j.equal("left", j.on(j.machine(), "pgrep", "-fx", "sleep 1008").Stdout, "")
	}},
}

// tool makes a program of a job.
func (j *jobs) tool(job, name, text string) {
	j.t.Helper()
	if err := j.Front.WriteFile(jobRoot+"/jobs/"+job+"/bin/"+name, text, 0o755); err != nil {
		j.t.Fatal(err)
	}
}

// stubborn is a script that prints the signals it gets and does not end by them.
const stubborn = "trap 'echo TERM' TERM; trap 'echo INT' INT; trap 'echo QUIT' QUIT; echo ready; while :; do sleep 0.1; done"

var jobStops = []jobCase{
	{"stop is idempotent", func(j *jobs, n string) {
		j.write(n, process(n, "true"))
		for range 2 {
			if res := j.try("stop", n); res.Code != 0 || res.Stderr != "bpjob: process "+n+" is not running\n" {
				j.t.Errorf("got %+v", res)
			}
		}
	}},
	{"stop of what is in no job file fails", func(j *jobs, n string) {
		j.fails("there is no job "+n+": ", "stop", n)
		j.write(n, process(n, "true"))
		j.fails("process \"x\" not present in job configuration", "stop", "-p", "x", n)
	}},
	{"stop sends TERM", func(j *jobs, n string) {
		j.start(n, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
		j.equal("log", j.log(n, "stdout"), "ready\nbye\n")
		if k := j.status(n); k.State != "stopped" || k.Exit.Signal != 0 {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"stop sends INT if asked to", func(j *jobs, n string) {
		j.start(n, "trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 0.1; done", "shutdown_signal: INT")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
		j.equal("log", j.log(n, "stdout"), "ready\nbye\n")
	}},
	{"stop kills what does not end", func(j *jobs, n string) {
		j.start(n, stubborn, "shutdown_timeout: 1s")
		j.awaitLog(n, "stdout", "ready\n")
		began := time.Now()
		res := j.try("stop", n)
		if res.Code != 0 || res.Stderr != "bpjob: process "+n+" did not end in time and was killed\n" || time.Since(began) < 3*time.Second {
			j.t.Errorf("got %+v after %v", res, time.Since(began))
		}
		j.equal("log", j.log(n, "stdout"), "ready\nTERM\nQUIT\n")
		if k := j.status(n); k.State != "stopped" || k.Exit.Signal != 9 || k.Exit.Cause != "shutdown timed out" {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"stop ends all of a process", func(j *jobs, n string) {
		j.start(n, "setsid sleep 2001 & (sleep 2002 &) ; echo ready; sleep 2003")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
		j.equal("left on the node", j.on(j.machine(), "pgrep", "-fx", "sleep 200[0-9]").Stdout, "")
	}},
	{"what a process has started ends with it", func(j *jobs, n string) {
		j.start(n, "setsid sleep 2004 & echo ready; exit 1")
		j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		j.equal("left on the node", j.on(j.machine(), "pgrep", "-fx", "sleep 2004").Stdout, "")
	}},
	{"SIGTERM ends what runs in the foreground", func(j *jobs, n string) {
		j.write(n, process(n, "echo ready; exec sleep 1000"))
		var run sync.WaitGroup
		run.Go(func() {
			if res := j.try("run", "-N", j.at(), n); res.Code != 143 {
				j.t.Errorf("got %+v", res)
			}
		})
		j.awaitLog(n, "stdout", "ready\n")
		j.awaitArgs(strings.TrimSpace(j.run("pid", n)), "sleep 1000")
		j.on(j.Front, "pkill", "-TERM", "-fx", ".*bpjob run -N "+j.at()+" "+n)
		run.Wait()
	}},
}

var jobRestarts = []jobCase{
	{"no restart without a rule", func(j *jobs, n string) {
		j.start(n, "exit 1")
		j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" && k.Runs == 1 })
	}},
	{"restart that is asked to end while the process ends", func(j *jobs, n string) {
		j.start(n, "trap 'sleep 1; exit' TERM; echo run; while :; do sleep 0.1; done")
		restart := j.Front.Command(j.t.Context(), cluster.Root, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "restart", "-N", j.at(), n)
		if err := restart.Start(); err != nil {
			j.t.Fatal(err)
		}
		j.await(n, "stopping", func(k jobStatus) bool { return k.State == "stopping" })
		pid, err := restart.PID()
		if err == nil {
			err = j.Front.Kill(pid, unix.SIGTERM)
		}
		if err != nil {
			j.t.Fatal(err)
		}
		if err := restart.Wait(); err == nil {
			j.t.Error("the command has ended with 0 after SIGTERM")
		}
		j.await(n, "running again", func(k jobStatus) bool { return k.State == "running" && k.Runs == 2 })
	}},
	{"restart on failure", func(j *jobs, n string) {
		j.start(n, "echo run; test -e $TMPDIR/2 && exit 0; test -e $TMPDIR/1 && touch $TMPDIR/2; touch $TMPDIR/1; exit 1", "restart: {when: on-failure, delay: 100ms}")
		j.await(n, "finished after three runs", func(k jobStatus) bool { return k.State == "finished" && k.Runs == 3 })
		j.equal("log", j.log(n, "stdout"), "run\nrun\nrun\n")
	}},
	{"restart always", func(j *jobs, n string) {
		j.start(n, "exit 0", "restart: {when: always, delay: 100ms, max_delay: 100ms}")
		j.await(n, "run four times", func(k jobStatus) bool { return k.Runs >= 4 })
		j.run("stop", n)
		if k := j.status(n); k.State != "stopped" {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"the wait grows", func(j *jobs, n string) {
		j.start(n, "date +%s%N; exit 1", "restart: {when: on-failure, delay: 200ms}")
		j.await(n, "run four times", func(k jobStatus) bool { return k.Runs >= 4 && k.State == "restart wait" })
		j.run("stop", n)
		var last int64
		wait := 200 * time.Millisecond
		for i, line := range strings.Fields(j.log(n, "stdout")) {
			at, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				j.t.Fatal(err)
			}
			if took := time.Duration(at - last); i > 0 {
				if took < wait {
					j.t.Errorf("run %d begins %v after the one before, want at least %v", i+1, took, wait)
				}
				wait *= 2
			}
			last = at
		}
	}},
	{"kill on the front end, and a restart", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000", "restart: {when: on-failure, delay: 100ms}")
		pid, err := strconv.Atoi(strings.TrimSpace(j.run("pid", n)))
		if err != nil {
			j.t.Fatal(err)
		}
		if err := j.Front.Kill(pid, unix.SIGKILL); err != nil {
			j.t.Fatal(err)
		}
		k := j.await(n, "running again", func(k jobStatus) bool { return k.State == "running" && k.Runs == 2 })
		if k.PID == pid {
			j.t.Errorf("still %d", pid)
		}
	}},
	{"start does not wait for a restart", func(j *jobs, n string) {
		j.start(n, "test -e $TMPDIR/1 && exec sleep 1000; touch $TMPDIR/1; exit 1", "restart: {when: on-failure, delay: 1h}")
		j.await(n, "waiting", func(k jobStatus) bool { return k.State == "restart wait" })
		next := (j.node + 1) % len(j.Nodes)
		j.write(n, process(n, "echo the new file; exec sleep 1000"))
		j.run("start", "-N", strconv.Itoa(next), n)
		if k := j.status(n); k.State != "running" || *k.Node != next || k.Runs != 2 {
			j.t.Errorf("got %+v", k)
		}
		j.awaitLog(n, "stdout", "the new file\n")
	}},
	{"a supervisor that is killed", func(j *jobs, n string) {
		j.start(n, "trap '' HUP; echo ready; sleep 2005 & while :; do sleep 0.1; done")
		j.awaitLog(n, "stdout", "ready\n")
		j.on(j.Front, "pkill", "-KILL", "-fx", ".*bpjob supervise -p "+n+" .*")
		k := j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		if k.Reason == "" || k.PID != 0 {
			j.t.Errorf("got %+v", k)
		}
		next := (j.node + 1) % len(j.Nodes)
		j.run("start", "-N", strconv.Itoa(next), n)
		j.equal("left of the former run", j.on(j.machine(), "pgrep", "-fx", "sleep 2005").Stdout, "")
		j.on(j.Front, "pkill", "-KILL", "-fx", ".*bpjob supervise -p "+n+" .*")
		j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		j.run("stop", n)
		j.equal("left of the latter run", j.on(j.Nodes[next], "pgrep", "-fx", "sleep 2005").Stdout, "")
	}},
}

package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// jobSignals test signals from the front end, and what a process leaves.
var jobSignals = []jobCase{
	{"signals of the front end reach the process", func(j *jobs, n string) {
		j.start(n, "trap 'echo USR1' USR1; trap 'echo TERM; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
		j.awaitLog(n, "stdout", "ready\n")
		pid := j.pid(n)
		for _, s := range []struct {
			signal unix.Signal
			says   string
		}{{unix.SIGUSR1, "USR1\n"}, {unix.SIGTERM, "TERM\n"}} {
			if err := j.Front.Kill(pid, s.signal); err != nil {
				j.t.Fatal(err)
			}
			j.awaitLog(n, "stdout", s.says)
		}
		if k := j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" }); k.Exit.Code != 3 {
			j.t.Errorf("got %+v", *k.Exit)
		}
	}},
	{"a stop and a continuation of the front end", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		pid := j.pid(n)
		j.awaitArgs(strconv.Itoa(pid), "sleep 1000")
		for _, s := range []struct {
			signal unix.Signal
			state  string
		}{{unix.SIGSTOP, "T"}, {unix.SIGCONT, "S"}} {
			if err := j.Front.Kill(pid, s.signal); err != nil {
				j.t.Fatal(err)
			}
			j.onMachine(j.Front, s.state, "sh", "-c", fmt.Sprintf("ps -o s= -p %d | tr t T", pid)) // a stopped ghost is traced
			j.onMachine(j.Front, s.state, "bpsh", "-n", j.at(), "ps", "-o", "s=", "-p", strconv.Itoa(pid))
		}
		j.run("stop", n)
	}},
	{"TERM reaches all of a process", func(j *jobs, n string) {
		j.start(n, "trap 'wait; echo parent; exit 0' TERM; sh -c 'trap \"echo child; exit\" TERM; echo ready; while :; do sleep 0.05; done' & wait")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
		j.equal("log", j.log(n, "stdout"), "ready\nchild\nparent\n")
	}},
	{"a stop ends what is stopped", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000", "shutdown_timeout: 1s")
		if err := j.Front.Kill(j.pid(n), unix.SIGSTOP); err != nil {
			j.t.Fatal(err)
		}
		j.run("stop", n)
		j.equal("state", j.status(n).State, "stopped")
	}},
	{"orphans are reaped", func(j *jobs, n string) {
		j.start(n, "for i in 1 2 3 4 5; do (/bin/true & ) ; done; echo ready; exec sleep 1000")
		j.awaitLog(n, "stdout", "ready\n")
		for _, m := range []string{"node", "front end"} {
			where := j.machine()
			if m == "front end" {
				where = j.Front
			}
			j.onMachine(where, "", "sh", "-c", "ps -eo s=,comm= | grep '^Z.*true'")
		}
		j.run("stop", n)
	}},
	{"the number is the process's own", func(j *jobs, n string) {
		j.start(n, "echo $$; exec sleep 1000")
		j.awaitLog(n, "stdout", "\n")
		j.equal("number", j.log(n, "stdout"), j.run("pid", n))
	}},
	{"the end by a signal is the end of a shell's", func(j *jobs, n string) {
		for signal, code := range map[string]int{"SEGV": 139, "ABRT": 134, "USR1": 138} {
			if res := j.foreground(n, "kill -"+signal+" $$"); res.Code != code {
				j.t.Errorf("%s: got %+v, want %d", signal, res, code)
			}
		}
	}},
	{"run of a program that is missing, or cannot be executed", func(j *jobs, n string) {
		for program, code := range map[string]int{"/opt/server": 127, "no-such-server": 127, "/etc/passwd": 126} {
			j.write(n, "processes:\n- {name: "+n+", executable: "+program+"}\n")
			if res := j.try("run", "-N", j.at(), n); res.Code != code {
				j.t.Errorf("%s: got %+v, want %d", program, res, code)
			}
		}
	}},
	{"run writes no PID file", func(j *jobs, n string) {
		j.write(n, process(n, "echo ready; while ! test -e $TMPDIR/go; do sleep 0.05; done"))
		var run sync.WaitGroup
		run.Go(func() { j.try("run", "-N", j.at(), n) })
		j.awaitLog(n, "stdout", "ready\n")
		j.equal("PID file", j.on(j.Front, "sh", "-c", "ls "+jobRoot+"/sys/run/bpm/"+n+" | grep 'pid$'").Stdout, "")
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		run.Wait()
	}},
	{"the PID file goes when the process ends by itself", func(j *jobs, n string) {
		j.start(n, "exit 0")
		j.await(n, "finished", func(k jobStatus) bool { return k.State == "finished" })
		j.equal("PID file", j.on(j.Front, "sh", "-c", "ls "+jobRoot+"/sys/run/bpm/"+n+" | grep 'pid$'").Stdout, "")
	}},
	{"the PID file goes when the process is killed", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		if err := j.Front.Kill(j.pid(n), unix.SIGKILL); err != nil {
			j.t.Fatal(err)
		}
		j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		j.equal("PID file", j.on(j.Front, "sh", "-c", "ls "+jobRoot+"/sys/run/bpm/"+n+" | grep 'pid$'").Stdout, "")
	}},
	{"start does not wait until a program is ready", func(j *jobs, n string) {
		j.start(n, "while ! test -e $TMPDIR/go; do sleep 0.05; done; echo ready; exec sleep 1000")
		j.equal("state", j.status(n).State, "running")
		j.equal("log", j.log(n, "stdout"), "")
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
	}},
}

// pid returns the number of the process with the name of its job.
func (j *jobs) pid(job string) int {
	j.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(j.run("pid", job)))
	if err != nil {
		j.t.Fatal(err)
	}
	return pid
}

// jobRaces test concurrent starts and stops of a process, and damaged state.
var jobRaces = []jobCase{
	{"two runs at once", func(j *jobs, n string) {
		j.write(n, process(n, "echo begin; while ! test -e $TMPDIR/go; do sleep 0.05; done"))
		var first sync.WaitGroup
		first.Go(func() {
			if res := j.try("run", "-N", j.at(), n); res.Code != 0 {
				j.t.Errorf("the first: got %+v", res)
			}
		})
		j.awaitLog(n, "stdout", "begin\n")
		j.fails("process "+n+" is running already", "run", "-N", j.at(), n)
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		first.Wait()
		j.equal("log", j.log(n, "stdout"), "begin\n")
	}},
	{"a start of the service behind a stop", func(j *jobs, n string) {
		j.start(n, "trap 'while ! test -e $TMPDIR/go; do sleep 0.05; done; exit' TERM; echo ready; while :; do sleep 0.05; done")
		j.awaitLog(n, "stdout", "ready\n")
		since := time.Now().Format(time.RFC3339Nano)
		var both sync.WaitGroup
		both.Go(func() { j.run("stop", n) })
		j.await(n, "stopping", func(k jobStatus) bool { return k.State == "stopping" })
		both.Go(func() { j.run("start", "--since", since, "-N", j.at(), n) })
		j.onMachine(j.Front, "2", "pgrep", "-cf", "bpjob st(op|art .*) "+n+"$")
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		both.Wait()
		if k := j.status(n); k.State != "stopped" || k.Runs != 1 {
			j.t.Errorf("got %+v", k)
		}
		j.run("start", "--since", time.Now().Format(time.RFC3339Nano), "-N", j.at(), n)
		j.equal("state", j.status(n).State, "running")
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		j.run("stop", n)
	}},
	{"the terminal of a run goes away", func(j *jobs, n string) {
		for _, tt := range []struct {
			with    string
			ignored bool
		}{{"", false}, {"nohup", true}} {
			j.write(n, process(n, "echo begin; exec sleep 1000"))
			argv := append(strings.Fields(tt.with), "bpjob", "run", "-N", j.at(), n)
			cmd := j.Front.Command(j.t.Context(), cluster.Root, append([]string{"env", "BPJOB_ROOT=" + jobRoot}, argv...)...)
			if err := cmd.Start(); err != nil {
				j.t.Fatal(err)
			}
			j.await(n, "running", func(k jobStatus) bool { return k.State == "running" })
			pid, err := cmd.PID()
			if err != nil {
				j.t.Fatal(err)
			}
			if tt.ignored {
				j.equal("SIGHUP is ignored", j.on(j.Front, "grep", "-c", "SigIgn:.*[13579bdf]$", fmt.Sprintf("/proc/%d/status", pid)).Stdout, "1\n")
				j.run("stop", n)
			} else if err := j.Front.Kill(pid, unix.SIGHUP); err != nil {
				j.t.Fatal(err)
			}
			awaitEnd(j.t, cmd)
			j.equal("state", j.status(n).State, "stopped")
		}
	}},
	{"a stop while nobody reads what a run says", func(j *jobs, n string) {
		j.write(n, process(n, "exec yes"))
		cmd := j.Front.Command(j.t.Context(), cluster.Root, "env", "BPJOB_ROOT="+jobRoot, "sh", "-c", "bpjob run -N "+j.at()+" "+n+" | sleep 1234")
		if err := cmd.Start(); err != nil {
			j.t.Fatal(err)
		}
		j.await(n, "running", func(k jobStatus) bool { return k.State == "running" })
		j.onMachine(j.Front, "1", "pgrep", "-fc", "^sleep 1234$")
		j.run("stop", n)
		j.equal("state", j.status(n).State, "stopped")
		j.on(j.Front, "pkill", "-f", "^sleep 1234$")
		awaitEnd(j.t, cmd)
	}},
	{"start of what runs in the foreground", func(j *jobs, n string) {
		j.write(n, process(n, "echo begin; while ! test -e $TMPDIR/go; do sleep 0.05; done"))
		var first sync.WaitGroup
		first.Go(func() { j.try("run", "-N", j.at(), n) })
		j.awaitLog(n, "stdout", "begin\n")
		if res := j.try("start", "-N", j.at(), n); res.Code != 0 || res.Stderr != "bpjob: process "+n+" is running already\n" {
			j.t.Errorf("got %+v", res)
		}
		j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		first.Wait()
	}},
	{"stops at once all succeed", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { j.run("stop", n) })
		}
		all.Wait()
		j.equal("state", j.status(n).State, "stopped")
	}},
	{"starts and stops at once leave one process or none", func(j *jobs, n string) {
		j.write(n, process(n, "flock -n -E 9 /tmp/f sleep 1000; test $? = 9 && echo overlap"))
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { j.try([]string{"start", "stop", "restart"}[i%3], n) }) // a stop has no -N
			all.Go(func() { j.try([]string{"start", "restart"}[i%2], "-N", j.at(), n) })
		}
		all.Wait()
		j.run("stop", n)
		j.equal("state", j.status(n).State, "stopped")
		j.equal("log", j.log(n, "stdout"), "")
		j.equal("left on the node", j.on(j.machine(), "pgrep", "flock").Stdout, "")
	}},
	{"a stop during a start", func(j *jobs, n string) {
		j.tool(n, "pre", "#!/bin/sh\necho began\nexec sleep 1000\n")
		j.write(n, process(n, "echo process; exec sleep 1000", "hooks: {pre_start: "+jobRoot+"/jobs/"+n+"/bin/pre}"))
		var start sync.WaitGroup
		start.Go(func() { j.fails("process "+n+": stopped during its start", "start", "-N", j.at(), n) })
		j.awaitLog(n, "stdout", "began\n")
		if res := j.try("stop", n); res.Code != 0 || res.Stderr != "" { // it does not wait for the start
			j.t.Errorf("stop: got %+v", res)
		}
		start.Wait()
		j.equal("state", j.status(n).State, "stopped")
	}},
	{"a process can be stopped whose job file is broken", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		j.write(n, "processes: [\n")
		defer j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n)
		j.run("stop", n)
	}},
	{"the supervisor is killed during a stop", func(j *jobs, n string) {
		j.start(n, "trap '' HUP TERM QUIT; echo ready; while :; do sleep 0.0527; done")
		j.awaitLog(n, "stdout", "ready\n")
		var stop sync.WaitGroup
		stop.Go(func() {
			if res := j.try("stop", n); res.Code != 0 || res.Stderr != "" {
				j.t.Errorf("stop: got %+v", res)
			}
		})
		j.await(n, "stopping", func(k jobStatus) bool { return k.State == "stopping" })
		j.on(j.Front, "pkill", "-KILL", "-f", "bpjob supervise -p "+n+" ")
		stop.Wait()
		j.equal("state", j.status(n).State, "stopped")
		j.equal("left on the node", j.on(j.machine(), "pgrep", "-f", "sleep 0.0527").Stdout, "")
	}},
	{"a run that does not begin has not the former end", func(j *jobs, n string) {
		if res := j.foreground(n, "exit 3"); res.Code != 3 {
			j.t.Errorf("at first: got %+v", res)
		}
		log := jobRoot + "/sys/log/" + n + "/" + n + ".stdout.log"
		j.on(j.Front, "sh", "-c", "rm "+log+"; mkdir "+log)
		if res := j.foreground(n, "exit 3"); res.Code != 1 || !strings.Contains(res.Stderr, log) {
			j.t.Errorf("without a log: got %+v", res)
		}
		j.on(j.Front, "rmdir", log)
	}},
	{"a damaged record is replaced by the next start", func(j *jobs, n string) {
		j.start(n, "exit 0")
		j.await(n, "finished", func(k jobStatus) bool { return k.State == "finished" })
		if err := j.Front.WriteFile(jobRoot+"/sys/run/bpm/"+n+"/"+n+".json", `{"State":`, 0o644); err != nil {
			j.t.Fatal(err)
		}
		j.equal("state", j.status(n).State, "failed")
		j.write(n, process(n, "exec sleep 1000"))
		j.run("start", "-N", j.at(), n)
		j.equal("state", j.status(n).State, "running")
		j.run("stop", n)
	}},
	{"restarts leave no mounts and no control groups", func(j *jobs, n string) {
		v := "additional_volumes: [{path: " + jobRoot + "/data/v-" + n + ", writable: true}]"
		count := func() string {
			return j.on(j.machine(), "sh", "-c", "grep -c . /proc/self/mounts; find /sys/fs/cgroup -name 'job-"+n+"*'").Stdout
		}
		j.says(n, "true", v)
		before := count()
		for range 3 {
			j.says(n, "true", v)
		}
		j.equal("mounts and groups", count(), before)
	}},
}

// jobSlow is a case that takes as long as a timeout of jobs: all run at once, concurrently with
// other cases.
type jobSlow struct {
	name string
	done chan struct{}
	say  string // the error
}

var slowNames = []string{"a hook that takes too long", "the time for a shutdown"}

// startSlow starts the slow cases.
func (j *jobs) startSlow() []*jobSlow {
	j.t.Helper()
	j.tool("slowhook", "pre", "#!/bin/sh\necho hook\nsleep 1011 & sleep 1011\n")
	j.write("slowhook", process("slowhook", "echo process", "hooks: {pre_start: "+jobRoot+"/jobs/slowhook/bin/pre}"))
	j.start("slowstop", stubborn)
	j.awaitLog("slowstop", "stdout", "ready\n")
	var slow []*jobSlow
	for i, check := range []func() string{j.slowHook, j.slowStop} {
		s := &jobSlow{name: slowNames[i], done: make(chan struct{})}
		slow = append(slow, s)
		go func() { defer close(s.done); s.say = check() }()
	}
	return slow
}

func (j *jobs) slowHook() string {
	began := time.Now()
	res := j.try("start", "-N", j.at(), "slowhook")
	took := time.Since(began)
	left := j.on(j.machine(), "pgrep", "-fx", "sleep 1011").Stdout
	if res.Code != 1 || !strings.Contains(res.Stderr, "pre_start timed out") || took < 30*time.Second || left != "" || j.log("slowhook", "stdout") != "hook\n" {
		return res.Stderr + " after " + took.String() + ", left: " + left
	}
	return ""
}

func (j *jobs) slowStop() string {
	began := time.Now()
	res := j.try("stop", "slowstop")
	took := time.Since(began)
	if log := j.log("slowstop", "stdout"); res.Code != 0 || took < 22*time.Second || log != "ready\nTERM\nQUIT\n" {
		return res.Stderr + " after " + took.String() + ", log: " + log
	}
	return ""
}

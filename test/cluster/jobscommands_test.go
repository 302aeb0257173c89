package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

var jobCommands = []jobCase{
	{"list goes on after a job file that is wrong", func(j *jobs, n string) {
		j.write(n, "processes: [{name: a}]\n")
		defer j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n)
		j.write(n+"z", process(n+"z", "true"))
		res := j.try("list")
		if res.Code != 0 || !strings.Contains(res.Stderr, "the key executable is missing") || !strings.Contains(res.Stdout, n+"z ") {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"a job that was never started", func(j *jobs, n string) {
		j.write(n, process(n, "true"))
		j.equal("state", j.status(n).State, "created")
		j.fails("logs not found", "logs", n)
	}},
	{"no job, no nodes", func(j *jobs, n string) {
		j.fails("bpjob: must specify a job", "start")
		j.fails("\"a/b\" cannot be the name of a job", "start", "a/b")
		j.write(n, process(n, "true"))
		j.fails("no nodes given for job "+n+": use -N, or the key nodes of ", "start", n)
		j.fails("no node of \"down\" is up", "start", "-N", "down", n)
	}},
	{"restarts at once never overlap", func(j *jobs, n string) {
		j.write(n, process(n, "flock -n -E 9 /tmp/f sleep 1000; test $? = 9 && echo overlap"))
		j.fails("no nodes given", "restart", n)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { j.try("restart", "-N", j.at(), n) })
		}
		all.Wait()
		k := j.status(n)
		if k.State != "running" || k.Runs != 3 {
			j.t.Errorf("got %+v", k)
		}
		j.run("stop", n)
		j.equal("log", j.log(n, "stdout"), "")
	}},
	{"files with long names", func(j *jobs, n string) {
		j.write(n, process(n, "find . -name f | wc -l"))
		long := "$(printf %0150d $i)"
		j.on(j.Front, "sh", "-c", "cd "+jobRoot+"/jobs/"+n+"; for i in $(seq 400); do mkdir -p "+long+"/"+long+"; echo $i >"+long+"/"+long+"/f; done")
		for range 2 {
			j.equal("files", j.run("run", "-N", j.at(), n), "400\n")
		}
	}},
	{"a job on a node that is drained is stopped", func(j *jobs, n string) {
		j.start(n, "trap '' TERM QUIT; setsid sleep 1000 & echo ready; while :; do sleep 0.1; done", "shutdown_timeout: 1s")
		j.awaitLog(n, "stdout", "ready\n")
		j.on(j.Front, "bpctl", "drain", j.at())
		defer j.on(j.Front, "bpctl", "undrain", j.at())
		j.write(n+"b", process(n+"b", "true"))
		j.fails("no node of \""+j.at()+"\" is up", "start", "-N", j.at(), n+"b")
		if res := j.try("stop", n); res.Code != 0 || !strings.Contains(res.Stderr, "did not end in time and was killed") {
			j.t.Errorf("got %+v", res)
		}
		j.equal("left", j.on(j.machine(), "find", "/sys/fs/cgroup", "-name", "job-"+n+"*").Stdout, "")
	}},
	{"what is stopped when it does not run is stopped", func(j *jobs, n string) {
		j.write(n, process(n, "exit 3"))
		j.try("run", "-N", j.at(), n)
		j.equal("state", j.status(n).State, "failed")
		j.run("stop", n)
		if k := j.status(n); k.State != "stopped" || k.Exit.Code != 3 {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"a shell", func(j *jobs, n string) {
		j.fails("there is no job", "shell", n)
		j.write(n, process(n, "echo >/dev/shm/f; exec sleep 1000", "limits: {open_files: 77}"))
		j.fails("process is not running or could not be found", "shell", n)
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		j.run("start", "-N", j.at(), n)
		pid := strings.TrimSpace(j.run("pid", n))
		j.awaitArgs(pid, "sleep 1000")
		cmd := j.Front.Command(j.t.Context(), cluster.Root, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "shell", n)
		cmd.Stdin = strings.NewReader("pwd; id -u; ls /dev/shm; ulimit -n; cat /proc/" + pid + "/comm; " + statusOf("CapBnd|NoNewPrivs") + "; exit 3\n")
		res, err := cmd.Result()
		if err != nil {
			j.t.Fatal(err)
		}
		want := jobRoot + "/jobs/" + n + "\n12345\nf\n77\nsleep\nCapBnd: 0000000000000000\nNoNewPrivs: 1\n"
		if res.Code != 3 || res.Stdout != want {
			j.t.Errorf("got %+v, want %q", res, want)
		}
		j.run("stop", n)
	}},
	{"a trace", func(j *jobs, n string) {
		// It does not fork: strace does not end while it detaches from a process that waits in
		// vfork(2).
		j.start(n, "while read name </etc/hostname; do :; done")
		ctx, cancel := context.WithTimeout(j.t.Context(), limit.Scaled(time.Minute))
		defer cancel()
		cmd := j.Front.Command(ctx, cluster.Root, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "trace", n)
		said, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			j.t.Fatal(err)
		}
		for lines := bufio.NewScanner(said); !strings.Contains(lines.Text(), "hostname"); {
			if !lines.Scan() {
				j.t.Fatalf("the trace ends with %q", lines.Text())
			}
		}
		go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the trace
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			j.t.Fatal(err)
		}
		if res, err := cmd.Process.Wait(); err != nil || res.ExitCode() != 0 {
			j.t.Error(res, err)
		}
		j.equal("state", j.status(n).State, "running")
	}},
	{"logs", func(j *jobs, n string) {
		j.foreground(n, "seq 30; echo err >&2")
		j.equal("last lines", j.run("logs", n), strings.Join(strings.SplitAfter(j.log(n, "stdout"), "\n")[5:], ""))
		j.equal("some lines", j.run("logs", "-n", "2", n), "29\n30\n")
		j.equal("standard error", j.run("logs", "-e", n), "err\n")
		j.equal("all", j.run("logs", "-aq", "-n", "1", n), "30\nerr\n")
	}},
	{"the log of events", func(j *jobs, n string) {
		j.foreground(n, "exit 2")
		b, err := j.Front.ReadFile(jobRoot + "/sys/log/" + n + "/bpm.log")
		if err != nil {
			j.t.Fatal(err)
		}
		for _, text := range []string{`"event":"start",`, `"event":"started",`, `"event":"failed",`, `"exit":"exit 2"`} {
			if !strings.Contains(string(b), text) {
				j.t.Errorf("%s is not in %s", text, b)
			}
		}
	}},
	{"logs of both, with headers", func(j *jobs, n string) {
		j.foreground(n, "echo out; echo err >&2")
		dir := jobRoot + "/sys/log/" + n + "/" + n
		j.equal("logs", j.run("logs", "-a", n), "==> "+dir+".stdout.log <==\nout\n\n==> "+dir+".stderr.log <==\nerr\n")
	}},
	{"logs that are followed, until SIGINT", func(j *jobs, n string) {
		j.start(n, "echo first; while ! test -e $TMPDIR/go; do sleep 0.05; done; echo second; exec sleep 1000")
		j.awaitLog(n, "stdout", "first\n")
		ctx, cancel := context.WithTimeout(j.t.Context(), limit.Scaled(time.Minute))
		defer cancel()
		cmd := j.Front.Command(ctx, cluster.Root, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "logs", "-f", n)
		said, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			j.t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for _, want := range []string{"first", "second"} {
			if !lines.Scan() || lines.Text() != want {
				j.t.Fatalf("got %q, want %q", lines.Text(), want)
			}
			j.on(j.machine(), "touch", jobRoot+"/data/"+n+"/tmp/go")
		}
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			j.t.Fatal(err)
		}
		if res, err := cmd.Process.Wait(); err != nil || res.ExitCode() != 0 {
			j.t.Error(res, err)
		}
	}},
	{"logs and number of a process that is not called as its job", func(j *jobs, n string) {
		j.write(n, "processes:\n- {name: other, executable: sh, args: [-c, echo $$; exec sleep 1000]}\n")
		j.run("start", "-N", j.at(), "-p", "other", n)
		pid := j.run("pid", "-p", "other", n)
		cluster.Eventually(j.t, "its log has its number", func() error {
			if log := j.run("logs", "-p", "other", n); log != pid {
				return fmt.Errorf("got %q, want %q", log, pid)
			}
			return nil
		})
		j.fails("process is not running or could not be found", "pid", n)
		j.run("stop", "-p", "other", n)
	}},
	{"the states of list", func(j *jobs, n string) {
		rows := map[string]string{"created": "", "running": "exec sleep 1000", "finished": "exit 0", "failed": "exit 3", "stopped": "exec sleep 1000"}
		for state, script := range rows {
			j.write(n+state, process(n+state, script))
			if script != "" {
				j.run("start", "-N", j.at(), n+state)
			}
		}
		j.run("stop", n+"stopped")
		for state, script := range rows {
			k := j.await(n+state, state, func(k jobStatus) bool { return k.State == state })
			pid, node, end := "-", j.at(), "-"
			switch state {
			case "created":
				node = "-"
			case "running":
				pid = strconv.Itoa(k.PID)
			case "failed":
				end = "exit 3"
			case "stopped":
				end = "signal 15"
			}
			want := fmt.Sprintf("%s %s %s %s %s", n+state, pid, state, node, end)
			if list := j.run("list"); !slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool { return strings.Join(strings.Fields(line), " ") == want }) {
				j.t.Errorf("%s (%s): %q is not in\n%s", state, script, want, list)
			}
		}
		j.run("stop", n+"running")
	}},
	{"list has what runs and is in no job file", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		pid := strings.TrimSpace(j.run("pid", n))
		j.write(n, "processes:\n- {name: other, executable: sleep}\n")
		if list := j.run("list"); !strings.Contains(list, n+" ") || !strings.Contains(list, pid) {
			j.t.Errorf("the process that is not in its job file any more is not in\n%s", list)
		}
		j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n)
		if list := j.run("list"); !strings.Contains(list, n+" ") || !strings.Contains(list, pid) {
			j.t.Errorf("the process whose job file is gone is not in\n%s", list)
		}
		j.run("stop", n)
		if list := j.run("list"); strings.Contains(list, n+" ") {
			j.t.Errorf("a process that neither runs nor is in a job file is in\n%s", list)
		}
	}},
	{"list as JSON", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		var all []struct {
			Name, State string
			PID, Node   int
		}
		if err := json.Unmarshal([]byte(j.run("list", "--json")), &all); err != nil {
			j.t.Fatal(err)
		}
		for _, k := range all {
			if k.Name == n && k.State == "running" && k.Node == j.node && strconv.Itoa(k.PID) == strings.TrimSpace(j.run("pid", n)) {
				return
			}
		}
		j.t.Errorf("%s is not in %+v", n, all)
	}},
	{"what is wrong with a command line", func(j *jobs, n string) {
		j.fails("no command given", []string{}...)
		j.fails("there is no command \"begin\"", "begin", n)
		j.fails("one job at a time", "start", n, n)
		j.fails("there is no option --colour", "start", "--colour", n)
		j.fails("there is no job "+n+": ", "start", n)
		j.fails("there is no job "+n+": ", "run", n)
		j.fails("there is no job "+n+": ", "restart", n)
		j.fails("logs not found", "logs", n)
		j.fails("process is not running or could not be found", "pid", n)
		j.fails("process is not running or could not be found", "trace", n)
	}},
	{"the version", func(j *jobs, _ string) {
		if got := j.run("--version"); !strings.HasPrefix(got, "bpjob ") {
			j.t.Errorf("got %q", got)
		}
	}},
}

package cluster_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestJobIsolation has the cases of what a job's process sees, and of what it can do.
func TestJobIsolation(t *testing.T) {
	t.Parallel()
	j := startJobs(t, 3)
	j.suite(isolationCases)
}

var isolationCases = slices.Concat(jobEnvironment, jobFiles, jobVolumes, jobPrivileges, jobProcesses, jobLimits, jobNeighbours)

var jobEnvironment = []jobCase{
	{"nothing of the caller's umask", func(j *jobs, n string) {
		j.write(n, process(n, "umask"))
		res := j.on(j.Front, "sh", "-c", "umask 077; BPJOB_ROOT="+jobRoot+" bpjob run -N "+j.at()+" "+n)
		j.equal("umask", res.Stdout, "0022\n")
		j.equal("modes", j.on(j.Front, "stat", "-c", "%a", jobRoot+"/sys/run/bpm/"+n, jobRoot+"/sys/log/"+n).Stdout, "755\n755\n")
	}},
	{"nothing of the caller's environment", func(j *jobs, n string) {
		data := jobRoot + "/data/" + n
		want := "HOME=" + data + "\nLANG=en_US.UTF-8\nPATH=" + jobRoot + "/jobs/" + n + "/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.\nPWD=" +
			jobRoot + "/jobs/" + n + "\nTMPDIR=" + data + "/tmp\n"
		j.equal("environment", j.says(n, "env | sort"), want)
	}},
	{"variables of the job file", func(j *jobs, n string) {
		j.equal("variables", j.says(n, "echo $HOME $LANG $ONE", "env: {HOME: /, ONE: 1, LANG: $HOME}"), "/ $HOME 1\n")
	}},
	{"variables of the command line", func(j *jobs, n string) {
		j.write(n, process(n, "echo $A $B", "env: {A: file, B: file}"))
		j.equal("variables", j.run("run", "-N", j.at(), "-e", "A=line", n), "line file\n")
	}},
	{"working directory", func(j *jobs, n string) {
		j.equal("default", j.says(n, "pwd"), jobRoot+"/jobs/"+n+"\n")
		j.equal("of the job file", j.says(n, "pwd", "workdir: /usr/lib"), "/usr/lib\n")
	}},
	{"working directory that is missing", func(j *jobs, n string) {
		j.write(n, process(n, "pwd", "workdir: /nowhere"))
		j.fails("node "+j.at()+": working directory /nowhere of the job: no such file or directory", "run", "-N", j.at(), n)
	}},
	{"no input", func(j *jobs, n string) { j.equal("input", j.says(n, "cat; readlink /proc/self/fd/0"), "/dev/null\n") }},
	{"the owner of the job file", func(j *jobs, n string) {
		j.write(n, process(n, "id -u; id -g"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		j.equal("user", j.run("run", "-N", j.at(), n), "12345\n12345\n")
	}},
	{"the user vcap", func(j *jobs, n string) {
		j.write(n, process(n, "id -u; id -g"))
		j.on(j.Front, "sh", "-c", "cp /etc/passwd /run/passwd; echo vcap:x:4321:4322::/:/bin/sh >>/run/passwd; mount --bind /run/passwd /etc/passwd")
		defer j.on(j.Front, "umount", "/etc/passwd")
		j.equal("user", j.run("run", "-N", j.at(), n), "4321\n4322\n")
	}},
	{"outputs can be opened anew", func(j *jobs, n string) {
		j.write(n, process(n, "echo out >/dev/stdout; echo err >/dev/stderr"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		res := j.try("run", "-N", j.at(), n)
		if res.Code != 0 || res.Stdout != "out\n" || res.Stderr != "err\n" {
			j.t.Errorf("got %+v", res)
		}
	}},
	{"executable that is missing", func(j *jobs, n string) {
		j.write(n, "processes:\n- {name: "+n+", executable: /opt/server}\n")
		j.fails("process "+n+": node "+j.at()+": /opt/server is not on the node", "run", "-N", j.at(), n)
		j.fails("process "+n+": node "+j.at()+": /opt/server is not on the node", "start", "-N", j.at(), n)
		j.equal("state", j.status(n).State, "failed")
	}},
	{"executable that is none", func(j *jobs, n string) {
		j.write(n, "processes:\n- {name: "+n+", executable: /etc/passwd}\n")
		j.fails("/etc/passwd cannot be executed: permission denied", "start", "-N", j.at(), n)
	}},
	{"executable that the kernel refuses", func(j *jobs, n string) {
		for text, why := range map[string]string{"echo\n": "exec format error", "#!/nowhere/sh\n": "its interpreter: /nowhere/sh is not on the node"} {
			j.tool(n, "tool", text)
			j.write(n, "processes:\n- {name: "+n+", executable: tool}\n")
			j.fails("/bin/tool cannot be executed: "+why, "start", "-N", j.at(), n)
			if k := j.status(n); k.State != "failed" || k.Exit.Code != 126 || k.Exit.Cause != "not executed" {
				j.t.Errorf("%s: got %+v", why, k)
			}
		}
	}},
	{"executable that no directory of PATH has", func(j *jobs, n string) {
		j.write(n, "processes:\n- {name: "+n+", executable: no-such-server}\n")
		j.fails("no-such-server is not on the node in PATH", "start", "-N", j.at(), n)
	}},
}

var jobFiles = []jobCase{
	{"the job's own files", func(j *jobs, n string) {
		if err := j.Front.WriteFile(jobRoot+"/jobs/"+n+"/bin/tool", "#!/bin/sh\necho tool\n", 0o755); err != nil {
			j.t.Fatal(err)
		}
		j.equal("program of the job", j.says(n, "tool"), "tool\n")
		if err := j.Front.WriteFile(jobRoot+"/jobs/"+n+"/bin/tool", "#!/bin/sh\necho new\n", 0o755); err != nil {
			j.t.Fatal(err)
		}
		j.equal("program after a change", j.says(n, "tool"), "new\n")
		j.equal("writing", j.says(n, "touch bin/x 2>/dev/null || echo no"), "no\n")
	}},
	{"no other job's files", func(j *jobs, n string) {
		j.says(n+"-other", "echo secret >$TMPDIR/secret", "ephemeral_disk: true")
		j.equal("jobs", j.says(n, "cd "+jobRoot+"; ls jobs sys/log data"), "data:\n"+n+"\n\njobs:\n"+n+"\n\nsys/log:\n"+n+"\n")
	}},
	{"nothing of the node but its programs", func(j *jobs, n string) {
		got := strings.Fields(j.says(n, "ls /"))
		for _, dir := range []string{"root", "home", "run", "boot", "srv", "mnt", "media"} {
			if slices.Contains(got, dir) {
				j.t.Errorf("/%s is there", dir)
			}
		}
	}},
	{"programs of the node cannot be changed", func(j *jobs, n string) {
		got := j.says(n, "for d in / /usr /etc /usr/bin /opt /dev /sys; do touch $d/x 2>/dev/null && echo $d; done; true")
		j.equal("can be written to", got, "")
	}},
	{"temporary files are one directory on disk", func(j *jobs, n string) {
		got := j.says(n, "echo a >/tmp/f; cat /var/tmp/f "+jobRoot+"/data/"+n+"/tmp/f $TMPDIR/f; stat -f -c %T /tmp")
		if text, ok := strings.CutPrefix(got, "a\na\na\n"); !ok || text == "tmpfs\n" && !strings.Contains(j.on(j.machine(), "stat", "-f", "-c", "%T", jobRoot).Stdout, "tmpfs") {
			j.t.Errorf("got %q", got)
		}
		j.equal("on the node", j.on(j.machine(), "cat", jobRoot+"/data/"+n+"/tmp/f").Stdout, "a\n")
	}},
	{"log files of the job's own", func(j *jobs, n string) {
		j.says(n, "echo line >"+jobRoot+"/sys/log/"+n+"/own.log")
		j.equal("on the node", j.on(j.machine(), "cat", jobRoot+"/sys/log/"+n+"/own.log").Stdout, "line\n")
	}},
	{"a link of the job's leads nowhere", func(j *jobs, n string) {
		j.says(n, "true", "ephemeral_disk: true")
		dir := jobRoot + "/data/" + n
		j.on(j.machine(), "sh", "-c", "rmdir "+dir+"/tmp && ln -s /etc "+dir+"/tmp")
		j.write(n, process(n, "true", "ephemeral_disk: true"))
		j.fails("open "+dir+"/tmp: too many levels of symbolic links", "run", "-N", j.at(), n)
	}},
	{"a job called bpm", func(j *jobs, _ string) {
		dir := jobRoot + "/data/bpm"
		j.on(j.machine(), "sh", "-c", "mkdir -p "+dir+"/root; mkdir -m 700 "+dir+"/tmp; chown 12345 "+dir+"/tmp") // as former versions
		script := "for d in " + dir + " /tmp; do touch $d/f && ls -d $d/*; done; id -u"
		j.tool("bpm", "pre", "#!/bin/sh\ntouch "+dir+"/of-hook\n")
		j.write("bpm", process("bpm", script, "ephemeral_disk: true", "hooks: {pre_start: "+jobRoot+"/jobs/bpm/bin/pre}"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/bpm/config/bpm.yml")
		j.equal("writes", j.run("run", "-N", j.at(), "bpm"), strings.Join([]string{dir + "/f", dir + "/of-hook", dir + "/tmp", "/tmp/f", "12345", ""}, "\n"))
		j.equal("directory", j.on(j.machine(), "stat", "-c", "%u %a", dir).Stdout, "12345 700\n")
	}},
	{"a directory of root's that was not made for the job", func(j *jobs, n string) {
		dir := jobRoot + "/data/" + n
		j.on(j.machine(), "mkdir", "-p", dir)
		j.write(n, process(n, "touch "+dir+"/f 2>/dev/null || exit 9", "ephemeral_disk: true"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		if res := j.try("run", "-N", j.at(), n); res.Code != 9 {
			j.t.Errorf("got %+v", res)
		}
		j.equal("directory", j.on(j.machine(), "stat", "-c", "%u %a", dir).Stdout, "0 755\n")
	}},
	{"no job can be called packages", func(j *jobs, _ string) {
		j.write("packages", process("packages", "true"))
		j.fails("no job can be called packages: data/packages is for the packages of all jobs", "start", "-N", j.at(), "packages")
		j.fails("no job can be called packages", "check", "packages")
		j.on(j.Front, "rm", "-r", jobRoot+"/jobs/packages")
	}},
	{"devices", func(j *jobs, n string) {
		j.equal("devices", j.says(n, "ls /dev | tr '\\n' ' '; echo x >/dev/null; head -c 2 /dev/zero | wc -c"),
			"fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero 2\n")
	}},
	{"logs that are links are refused", func(j *jobs, n string) {
		j.write(n, process(n, "echo x"))
		j.on(j.Front, "mkdir", "-p", jobRoot+"/sys/log/"+n)
		log := jobRoot + "/sys/log/" + n + "/" + n + ".stdout.log"
		j.on(j.Front, "ln", "-s", "/etc/new", log)
		j.fails("log "+log+" is a symbolic link: remove it", "start", "-N", j.at(), n)
		j.on(j.Front, "rm", log)
		j.on(j.Front, "sh", "-c", "echo >"+jobRoot+"/victim; ln "+jobRoot+"/victim "+log)
		j.fails("log "+log+": it is no file, or has other names: remove it", "start", "-N", j.at(), n)
	}},
	{"logs are the user's", func(j *jobs, n string) {
		j.write(n, process(n, "echo x"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		j.run("run", "-N", j.at(), n)
		j.equal("log", j.on(j.Front, "stat", "-c", "%u %a", jobRoot+"/sys/log/"+n+"/"+n+".stdout.log").Stdout, "12345 600\n")
	}},
	{"logs are appended to", func(j *jobs, n string) {
		j.says(n, "echo one")
		j.says(n, "echo two")
		j.equal("log", j.log(n, "stdout"), "one\ntwo\n")
	}},
}

// statusOf returns a command that prints fields of /proc/self/status.
func statusOf(fields string) string {
	return "grep -E '^(" + fields + "):' /proc/self/status | tr -s '\\t' ' '"
}

var jobPrivileges = []jobCase{
	{"no capabilities", func(j *jobs, n string) {
		j.equal("capabilities", j.says(n, statusOf("CapPrm|CapEff|CapBnd|CapAmb|CapInh")),
			"CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\n")
	}},
	{"capabilities that are listed", func(j *jobs, n string) {
		j.write(n, process(n, statusOf("CapPrm|CapEff|CapBnd|CapAmb"), "capabilities: [NET_BIND_SERVICE]"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		j.equal("capabilities", j.run("run", "-N", j.at(), n), "CapPrm: 0000000000000400\nCapEff: 0000000000000400\nCapBnd: 0000000000000400\nCapAmb: 0000000000000400\n")
	}},
	{"no new privileges", func(j *jobs, n string) { j.equal("bit", j.says(n, statusOf("NoNewPrivs")), "NoNewPrivs: 1\n") }},
	{"filter of system calls", func(j *jobs, n string) {
		got := j.says(n, "for c in 'unshare -U true' 'unshare -m true' 'mount -t tmpfs x /tmp' 'hostname x' 'nsenter -t 1 -m true'; do $c 2>/dev/null && echo $c; done; true")
		j.equal("possible", got, "")
	}},
	{"a thread can be made without clone3", func(j *jobs, n string) {
		j.equal("thread", j.says(n, "python3 -c 'import threading as t; x = t.Thread(target=print, args=[1]); x.start(); x.join()'"), "1\n")
	}},
	{"namespaces", func(j *jobs, n string) {
		got := strings.Fields(j.says(n, "cd /proc/self/ns; readlink mnt ipc uts net"))
		node := strings.Fields(j.on(j.machine(), "sh", "-c", "cd /proc/self/ns; readlink mnt ipc uts net").Stdout)
		for i, own := range []bool{true, true, true, false} {
			if (got[i] != node[i]) != own {
				j.t.Errorf("%s here, %s on the node", got[i], node[i])
			}
		}
	}},
	{"masked files", func(j *jobs, n string) {
		j.equal("contents", j.says(n, "cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | head -c 10; ls /sys/firmware; echo 1 2>/dev/null >/proc/sys/kernel/printk || echo no"), "no\n")
	}},
	{"control groups of a privileged process", func(j *jobs, n string) {
		// The rest of the job ignores SIGTERM in groups of its own, as far as the node has their files.
		j.start(n, "trap '' TERM; mkdir -p /dev/shm/c; for v in '-t cgroup -o pids' '-t cgroup2'; do mount $v none /dev/shm/c && "+
			"own=$(dirname $(grep -lx $$ $(find /dev/shm/c -name cgroup.procs) | head -1)) && mkdir -p $own/sub/below && "+
			"{ sleep 1009 & echo $! >$own/sub/cgroup.procs; sleep 1009 & echo $! >$own/sub/below/cgroup.procs; echo ready; break; }; done; exec sleep 1009",
			"unsafe: {privileged: true}", "shutdown_timeout: 1s")
		j.awaitLog(n, "stdout", "ready\n")
		j.run("stop", n)
		j.equal("left", j.on(j.machine(), "pgrep", "-fx", "sleep 1009").Stdout, "")
		j.equal("groups", j.on(j.machine(), "find", "/sys/fs/cgroup/", "-path", "*job-"+n+":*").Stdout, "")
	}},
	{"privileged", func(j *jobs, n string) {
		got := j.says(n, "id -u; mount -t tmpfs x /mnt 2>/dev/null || mount -t tmpfs x /tmp && echo mounted; "+statusOf("NoNewPrivs"), "unsafe: {privileged: true}")
		j.equal("privileged", got, "0\nmounted\nNoNewPrivs: 0\n")
	}},
}

var jobProcesses = []jobCase{
	{"sees itself and its children, with their numbers", func(j *jobs, n string) {
		j.start(n, "sleep 1000 & echo $$ $!; wait")
		j.awaitLog(n, "stdout", "\n")
		j.equal("numbers", strings.Fields(j.log(n, "stdout"))[0], strings.TrimSpace(j.run("pid", n)))
		child := strings.Fields(j.log(n, "stdout"))[1]
		j.awaitArgs(child, "sleep 1000")
		got := strings.Fields(j.says(n+"b", "sleep 1000 & cd /proc; echo $$ $!; ls -d [0-9]*; kill $!"))
		if len(got) < 4 || len(got) > 5 || !slices.Contains(got[2:], got[0]) || !slices.Contains(got[2:], got[1]) || slices.Contains(got, child) {
			j.t.Errorf("got %q", got)
		}
	}},
	{"cannot signal others", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		other := strings.TrimSpace(j.run("pid", n))
		want := "unseen\nown\n"
		if scopesSignals() {
			want = "no\n" + want
		}
		j.equal("signal", j.says(n+"b", "kill -0 "+other+" 2>/dev/null || echo no; test -e /proc/"+other+" || echo unseen; sleep 1000 & kill $! && echo own"), want)
	}},
	{"sees everybody if it may", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		other := strings.TrimSpace(j.run("pid", n))
		j.awaitArgs(other, "sleep 1000")
		j.equal("other process", j.says(n+"b", "cat /proc/"+other+"/comm", "unsafe: {host_pid_namespace: true}"), "sleep\n")
	}},
	{"is a process of the front end", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		pid, err := strconv.Atoi(strings.TrimSpace(j.run("pid", n)))
		if err != nil {
			j.t.Fatal(err)
		}
		j.awaitArgs(strconv.Itoa(pid), "sleep 1000")
		if err := j.Front.Kill(pid, unix.SIGKILL); err != nil {
			j.t.Fatal(err)
		}
		k := j.await(n, "failed", func(k jobStatus) bool { return k.State == "failed" })
		if k.Exit.Signal != int(unix.SIGKILL) || k.Exit.Cause != "" {
			j.t.Errorf("got %+v", *k.Exit)
		}
	}},
	{"has the credentials of its user on the front end", func(j *jobs, n string) {
		j.write(n, process(n, "exec sleep 1000"))
		j.on(j.Front, "chown", "12345", jobRoot+"/jobs/"+n+"/config/bpm.yml")
		j.run("start", "-N", j.at(), n)
		j.equal("user", strings.TrimSpace(j.on(j.Front, "ps", "-o", "uid=", "-p", strings.TrimSpace(j.run("pid", n))).Stdout), "12345")
		j.run("stop", n)
	}},
}

// scopesSignals reports whether the kernel's Landlock keeps signals within a job (since Linux
// 6.12). Before, processes of the same user can be signalled, as docs/jobs.md says.
func scopesSignals() bool {
	const version, scopes = 1, 6 // LANDLOCK_CREATE_RULESET_VERSION, and the first version with scopes
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	return errno == 0 && v >= scopes
}

package cluster_test

import (
	"fmt"
	"strings"

	"bproc/test/cluster"
)

var jobVolumes = []jobCase{
	{"no ephemeral disk unless asked for", func(j *jobs, n string) {
		j.equal("writing", j.says(n, "touch "+jobRoot+"/data/"+n+"/f 2>/dev/null || echo no"), "no\n")
		j.equal("writing", j.says(n, "echo x >"+jobRoot+"/data/"+n+"/f", "ephemeral_disk: true"), "")
		j.equal("next run", j.says(n, "cat "+jobRoot+"/data/"+n+"/f", "ephemeral_disk: true"), "x\n")
	}},
	{"persistent disk", func(j *jobs, n string) {
		j.write(n, process(n, "echo x >>"+jobRoot+"/store/"+n+"/f; cat "+jobRoot+"/store/"+n+"/f", "persistent_disk: true"))
		j.on(j.machine(), "rm", "-rf", jobRoot+"/store")
		j.fails("the job asks for a persistent disk, and the node has no "+jobRoot+"/store", "run", "-N", j.at(), n)
		j.on(j.machine(), "mkdir", "-p", jobRoot+"/store")
		j.equal("first run", j.run("run", "-N", j.at(), n), "x\n")
		j.equal("second run", j.run("run", "-N", j.at(), n), "x\nx\n")
	}},
	{"volumes are read-only and execute nothing", func(j *jobs, n string) {
		v := jobRoot + "/data/shared-" + n
		j.on(j.machine(), "sh", "-c", "mkdir -p "+v+"; cp /bin/true "+v+"/t; chmod 755 "+v)
		j.equal("writing", j.says(n, "touch "+v+"/x 2>/dev/null || echo no; "+v+"/t 2>/dev/null || echo no", "additional_volumes: [{path: "+v+"}]"), "no\nno\n")
		j.equal("executing", j.says(n, v+"/t && echo yes", "additional_volumes: [{path: "+v+", allow_executions: true}]"), "yes\n")
		j.equal("writing", j.says(n, "touch "+v+"/x && echo yes", "additional_volumes: [{path: "+v+", writable: true}]"), "yes\n")
	}},
	{"volumes are made, and shared by jobs", func(j *jobs, n string) {
		key := "additional_volumes: [{path: " + jobRoot + "/data/new-" + n + "/deep, writable: true}]"
		j.says(n, "echo x >"+jobRoot+"/data/new-"+n+"/deep/f", key)
		j.equal("other job", j.says(n+"b", "cat "+jobRoot+"/data/new-"+n+"/deep/f", key), "x\n")
	}},
	{"volumes that are mounted only are not made", func(j *jobs, n string) {
		j.write(n, process(n, "true", "additional_volumes: [{path: "+jobRoot+"/data/none-"+n+", mount_only: true}]"))
		j.fails("volume "+jobRoot+"/data/none-"+n+":", "run", "-N", j.at(), n)
	}},
	{"volumes elsewhere are refused", func(j *jobs, n string) {
		j.write(n, process(n, "true", "additional_volumes: [{path: /etc}]"))
		j.fails("\"/etc\" must be in "+jobRoot+"/data or "+jobRoot+"/store", "start", "-N", j.at(), n)
	}},
	{"unrestricted volumes are patterns", func(j *jobs, n string) {
		j.on(j.machine(), "sh", "-c", "mkdir -p /var/lib/u-"+n+"/a1 /var/lib/u-"+n+"/a2 /var/lib/u-"+n+"/b")
		j.equal("seen", j.says(n, "ls /var/lib/u-"+n, "unsafe: {unrestricted_volumes: [{path: /var/lib/u-"+n+"/a*}]}"), "a1\na2\n")
	}},
	{"volumes of the command line", func(j *jobs, n string) {
		j.write(n, process(n, "touch /var/lib/v-"+n+"/x && echo yes"))
		j.equal("writing", j.run("run", "-N", j.at(), "-v", "/var/lib/v-"+n+":writable", n), "yes\n")
		j.fails("there is no option \"rw\"", "run", "-N", j.at(), "-v", "/var/lib/v-"+n+":rw", n)
	}},
	{"shared mounts are refused", func(j *jobs, n string) {
		j.write(n, process(n, "true", "additional_volumes: [{path: "+jobRoot+"/data/s, shared: true}]"))
		j.fails("volumes cannot be shared", "start", "-N", j.at(), n)
	}},
	{"volumes have no devices, set-user-ID programs or writes", func(j *jobs, n string) {
		v := jobRoot + "/data/options-" + n
		options := "grep ' " + v + " ' /proc/self/mountinfo | cut -d ' ' -f 6"
		for keys, want := range map[string]string{
			"": "ro,nosuid,nodev,noexec", ", writable: true": "rw,nosuid,nodev,noexec", ", allow_executions: true": "ro,nosuid,nodev",
		} {
			got := j.says(n, options, "additional_volumes: [{path: "+v+keys+"}]")
			j.equal("options"+keys, strings.ReplaceAll(strings.TrimSpace(got), ",relatime", ""), want)
		}
	}},
	{"volumes in the store", func(j *jobs, n string) {
		j.on(j.machine(), "mkdir", "-p", jobRoot+"/store")
		key := "additional_volumes: [{path: " + jobRoot + "/store/shared-" + n + ", writable: true}]"
		j.says(n, "echo x >"+jobRoot+"/store/shared-"+n+"/f", key)
		j.equal("on the node", j.on(j.machine(), "cat", jobRoot+"/store/shared-"+n+"/f").Stdout, "x\n")
	}},
	{"the job's own directory is no volume", func(j *jobs, n string) {
		for _, dir := range []string{"data", "store"} {
			j.write(n, process(n, "true", "additional_volumes: [{path: "+jobRoot+"/"+dir+"/"+n+"}]"))
			j.fails("is the job's own directory", "start", "-N", j.at(), n)
		}
	}},
	{"paths of volumes are written as they are", func(j *jobs, n string) {
		for _, path := range []string{"/data/../jobs", "/data/x/.", "/data/x/", "/data//x"} {
			j.write(n, process(n, "true", "additional_volumes: [{path: "+jobRoot+path+"}]"))
			j.fails("must be written as", "start", "-N", j.at(), n)
		}
		j.write(n, process(n, "true", "additional_volumes: [{path: data/x}]"))
		j.fails("must be in", "start", "-N", j.at(), n)
	}},
	{"a volume that leads elsewhere is refused", func(j *jobs, n string) {
		v := jobRoot + "/data/link-" + n
		j.on(j.machine(), "sh", "-c", "mkdir -p "+jobRoot+"/data; ln -s /etc "+v)
		j.write(n, process(n, "true", "additional_volumes: [{path: "+v+"}]"))
		j.fails("too many levels of symbolic links", "start", "-N", j.at(), n)
	}},
	{"disks are the user's alone", func(j *jobs, n string) {
		j.on(j.machine(), "mkdir", "-p", jobRoot+"/store")
		j.asNeighbour(n, "true", "ephemeral_disk: true", "persistent_disk: true")
		j.equal("owners and modes", j.on(j.machine(), "stat", "-c", "%u %a", jobRoot+"/data/"+n, jobRoot+"/store/"+n, jobRoot+"/data/"+n+"/tmp").Stdout,
			strings.Repeat("12345 700\n", 3))
	}},
	{"processes of a job share its disks", func(j *jobs, n string) {
		j.write(n, "processes:\n"+
			"- {name: a, executable: cp, args: [/etc/hostname, "+jobRoot+"/data/"+n+"/f], ephemeral_disk: true}\n"+
			"- {name: b, executable: cat, args: ["+jobRoot+"/data/"+n+"/f], ephemeral_disk: true}\n")
		j.run("run", "-N", j.at(), "-p", "a", n)
		j.equal("read by the other", j.run("run", "-N", j.at(), "-p", "b", n), j.on(j.machine(), "cat", "/etc/hostname").Stdout)
	}},
	{"unrestricted volumes do not cover the job's own", func(j *jobs, n string) {
		j.equal("own directory", j.says(n, "touch $TMPDIR/x && ls "+jobRoot+"/data", "unsafe: {unrestricted_volumes: [{path: "+jobRoot+"/data/"+n+"}]}"), n+"\n")
	}},
}

var jobLimits = []jobCase{
	{"the memory limit kills a child", func(j *jobs, n string) {
		for code, want := range map[int]string{0: "", 3: "bpjob: process " + n + ": exit 3 (out of memory)\n"} {
			res := j.foreground(n, fmt.Sprintf("python3 -c 'x = bytearray(300 << 20)'; exit %d", code), "limits: {memory: 64M}")
			if res.Code != code || !strings.HasSuffix(res.Stderr, want) || code == 0 && j.status(n).State != "finished" {
				j.t.Errorf("exit %d: got %+v", code, res)
			}
		}
	}},
	{"few open files", func(j *jobs, n string) {
		dir := jobRoot + "/jobs/" + n
		alone := cluster.Program(j.t, "testdata/alone.c", "-static")
		j.on(j.Front, "sh", "-c", "mkdir -p $0/bin; cp $1 $0/bin", dir, alone)
		j.write(n, "processes:\n- {name: "+n+", executable: alone, limits: {open_files: 1, processes: 20}}\n") // needs none
		j.equal("with one", j.run("run", "-N", j.at(), n), "alone\n")
		j.equal("with four", j.says(n, "ulimit -Hn; ulimit -Sn", "limits: {open_files: 4}"), "4\n4\n") // sh loads a library
		j.says(n, "true", "hooks: {pre_start: /bin/true}", "capabilities: [NET_BIND_SERVICE]", "limits: {open_files: 4}")
	}},
	{"open files", func(j *jobs, n string) { j.equal("limit", j.says(n, "ulimit -n", "limits: {open_files: 77}"), "77\n") }},
	{"core files", func(j *jobs, n string) {
		j.equal("default", j.says(n, "ulimit -c"), "0\n")
		j.equal("limit", j.says(n, "ulimit -c", "limits: {core_file_size: 1048576}"), "2048\n")
	}},
	{"processes", func(j *jobs, n string) {
		res := j.foreground(n, "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo alive", "limits: {processes: 5}")
		if !strings.Contains(res.Stdout+res.Stderr, "fork") {
			j.t.Errorf("got %+v", res)
		}
		j.equal("a process that is alone", j.says(n, "echo alive", "limits: {processes: 1}"), "alive\n")
	}},
	{"memory", func(j *jobs, n string) {
		res := j.foreground(n, "exec python3 -c 'x = bytearray(300 << 20); print(len(x))'", "limits: {memory: 64M}")
		if res.Code != 137 || res.Stdout != "" || res.Stderr != "bpjob: process "+n+": signal 9 (out of memory)\n" {
			j.t.Errorf("got %+v", res)
		}
		if k := j.status(n); k.Exit == nil || k.Exit.Cause != "out of memory" || !strings.Contains(j.run("list"), "out of memory") {
			j.t.Errorf("got %+v", k)
		}
	}},
	{"a limit of another job's has no effect", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000", "limits: {memory: 64M, processes: 5}")
		j.equal("memory", j.says(n+"b", "python3 -c 'x = bytearray(100 << 20); print(len(x))'"), "104857600\n")
	}},
	{"no limits unless asked for", func(j *jobs, n string) {
		j.equal("forks and memory", j.says(n, "for i in $(seq 60); do sleep 1000 & done; python3 -c 'x = bytearray(200 << 20); print(len(x))'"), "209715200\n")
	}},
	{"limits are hard", func(j *jobs, n string) {
		j.equal("limits", j.says(n, "ulimit -Hn; ulimit -Hc; ulimit -n 78 2>/dev/null || echo no", "limits: {open_files: 77, core_file_size: 1024}"), "77\n2\nno\n")
	}},
	{"threads are processes", func(j *jobs, n string) {
		got := j.says(n, `exec python3 -c '
import threading, time
try:
    for i in range(20): threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
except RuntimeError: print("no more")
'`, "limits: {processes: 10}")
		j.equal("output", got, "no more\n")
	}},
	{"the end by the memory limit is in the log of events", func(j *jobs, n string) {
		j.foreground(n, "exec python3 -c 'x = bytearray(300 << 20)'", "limits: {memory: 64M}")
		if b, err := j.Front.ReadFile(jobRoot + "/sys/log/" + n + "/bpm.log"); err != nil || !strings.Contains(string(b), "out of memory") {
			j.t.Errorf("got %s, %v", b, err)
		}
		if text := j.run("status", n); !strings.Contains(text, "out of memory") {
			j.t.Errorf("got %s", text)
		}
	}},
	{"the memory limit is of all together", func(j *jobs, n string) {
		const script = `
import os, time
child = os.fork()
x = bytearray(40 << 20)
if child == 0: time.sleep(1000)
os.wait()
os._exit(1)
`
		j.tool(n, "two", "#!/usr/bin/python3"+script)
		j.start(n, "exec two", "limits: {memory: 64M}")
		if k := j.await(n, "over", func(k jobStatus) bool { return k.State == "failed" }); k.Exit.Cause != "out of memory" {
			j.t.Errorf("got %+v", *k.Exit)
		}
	}},
}

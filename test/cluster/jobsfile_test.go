package cluster_test

import (
	"strings"
	"testing"
)

// TestJobFile has the cases of job files.
func TestJobFile(t *testing.T) {
	t.Parallel()
	startJobs(t, 3).suite(jobKeys)
}

// wrong checks that each command that needs the job file refuses it.
func (j *jobs) wrong(name, text, problem string) {
	j.t.Helper()
	j.write(name, text)
	defer j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+name)
	for _, command := range []string{"start", "run", "restart", "stop"} {
		j.fails(jobRoot+"/jobs/"+name+"/config/bpm.yml:"+problem, command, name)
	}
}

var jobKeys = []jobCase{
	{"a bpm.yml as it is", func(j *jobs, n string) {
		j.write(n, `
processes:
- name: `+n+`
  executable: sh
  args: [-c, 'echo $A $1; ulimit -n', name, 2424]
  env: {A: b}
  workdir: /usr
  hooks: {pre_start: /bin/true}
  capabilities: [NET_BIND_SERVICE]
  limits: {memory: 1G, open_files: 100, processes: 50, core_file_size: 0}
  ephemeral_disk: true
  persistent_disk: false
  additional_volumes: [{path: `+jobRoot+`/data/other, writable: true}]
  unsafe: {privileged: false, host_pid_namespace: false, unrestricted_volumes: [{path: /usr/share, mount_only: true}]}
  shutdown_signal: INT
`)
		j.owned(n)
		j.equal("output", j.run("run", "-N", j.at(), n), "b 2424\n100\n")
		j.equal("problems", j.run("check", jobRoot+"/jobs/"+n+"/config/bpm.yml"), "")
	}},
	{"a name is needed", func(j *jobs, n string) {
		j.wrong(n, "processes: [{executable: sh}]\n", "1:13: processes[0]: the key name is missing")
	}},
	{"an executable is needed", func(j *jobs, n string) {
		j.wrong(n, "processes: [{name: "+n+"}]\n", "1:13: processes[0]: the key executable is missing")
	}},
	{"processes are a list", func(j *jobs, n string) {
		j.wrong(n, "processes: {name: x}\n", "1:12: processes: must be a list")
	}},
	{"unknown keys are errors", func(j *jobs, n string) {
		j.wrong(n, process(n, "true", "workdri: /"), "5:3: processes[0].workdri: unknown key; do you mean workdir?")
	}},
	{"a size that is none", func(j *jobs, n string) {
		j.wrong(n, process(n, "true", "limits: {memory: lots}"), "5:20: processes[0].limits.memory: ")
	}},
	{"a shutdown signal is TERM or INT", func(j *jobs, n string) {
		j.wrong(n, process(n, "true", "shutdown_signal: HUP"), "5:20: processes[0].shutdown_signal: ")
	}},
	{"a capability that is none", func(j *jobs, n string) {
		j.wrong(n, process(n, "true", "capabilities: [NET_BIND]"), "5:18: processes[0].capabilities[0]: ")
	}},
	{"all problems at once", func(j *jobs, n string) {
		j.write(n, process(n, "true", "limits: {memory: lots}", "shutdown_signal: HUP", "colour: red"))
		defer j.on(j.Front, "rm", "-r", jobRoot+"/jobs/"+n)
		res := j.try("start", "-N", j.at(), n)
		for _, key := range []string{"limits.memory", "shutdown_signal", "colour"} {
			if res.Code != 1 || !strings.Contains(res.Stderr, ": processes[0]."+key+": ") {
				j.t.Errorf("%s: got %+v", key, res)
			}
		}
	}},
	{"a file that is not YAML", func(j *jobs, n string) { j.wrong(n, "processes: [\n", "") }},
	{"arguments are taken as they are written", func(j *jobs, n string) {
		j.write(n, "processes:\n- {name: "+n+", executable: printf, args: ['%s;', 2424, 1.50, yes, '$HOME', a b]}\n")
		j.equal("arguments", j.run("run", "-N", j.at(), n), "2424;1.50;yes;$HOME;a b;")
	}},
	{"values are not expanded", func(j *jobs, n string) {
		j.equal("variables", j.says(n, "echo $ONE $TWO", "env: {ONE: 1, TWO: $ONE}"), "1 $ONE\n")
	}},
	{"PATH of the job file is searched", func(j *jobs, n string) {
		j.tool(n, "mine", "#!/bin/sh\necho mine\n")
		j.write(n, "processes:\n- name: "+n+"\n  executable: mine\n  env: {PATH: "+jobRoot+"/jobs/"+n+"/bin:/bin}\n")
		j.equal("output", j.run("run", "-N", j.at(), n), "mine\n")
	}},
	{"nodes of the job file", func(j *jobs, n string) {
		j.write(n, "nodes: "+j.at()+"\n"+process(n, "exec sleep 1000"))
		j.run("start", n)
		if k := j.status(n); k.Node == nil || *k.Node != j.node {
			j.t.Errorf("got %+v, want node %d", k, j.node)
		}
		j.run("stop", n)
	}},
	{"nodes of the command line come first", func(j *jobs, n string) {
		j.write(n, "nodes: 0-2\n"+process(n, "hostname"))
		for i, m := range j.Nodes {
			j.equal("host name", j.run("run", "-N", string(rune('0'+i)), n), j.on(m, "hostname").Stdout)
		}
	}},
	{"a process goes back to its node", func(j *jobs, n string) {
		j.write(n, process(n, "hostname"))
		j.run("run", "-N", j.at(), n)
		j.equal("host name", j.run("run", "-N", "0-2", n), j.on(j.machine(), "hostname").Stdout)
	}},
	{"the directory of the job is a symbolic link", func(j *jobs, n string) {
		j.tool(n, "mine", "#!/bin/sh\necho mine\n")
		j.write(n, "processes:\n- {name: "+n+", executable: mine}\n")
		dir := jobRoot + "/jobs/" + n
		j.on(j.Front, "sh", "-c", "mkdir -p "+jobRoot+"/data/versions && mv "+dir+" "+jobRoot+"/data/versions/"+n+" && ln -s ../data/versions/"+n+" "+dir)
		for range 2 {
			j.equal("output", j.run("run", "-N", j.at(), n), "mine\n")
		}
	}},
	{"a file that changed holds at the next start", func(j *jobs, n string) {
		j.start(n, "exec sleep 1000")
		j.write(n, process(n, "exec sleep 1001"))
		j.run("restart", "-N", j.at(), n)
		j.awaitArgs(strings.TrimSpace(j.run("pid", n)), "sleep 1001")
	}},
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"bproc/test/cluster"
)

// jobFigures compare jobs with containers of runc(8) and podman(1) on the node that isolate and
// limit the same program in the same way.
var jobFigures = []figure{
	{name: "job.start.podman", unit: "ms", measure: startJob(podmanJobs)},
	{name: "job.start.runc", unit: "ms", measure: startJob(runcJobs)},
	{name: "job.start", unit: "ms", base: "job.start.runc", measure: startJob(bprocJobs)},
	{name: "job.memory.podman", unit: "KiB", runs: 3, measure: jobMemory(podmanJobs)},
	{name: "job.memory.runc", unit: "KiB", runs: 3, measure: jobMemory(runcJobs)},
	{name: "job.memory", unit: "KiB", base: "job.memory.podman", runs: 3, measure: jobMemory(bprocJobs)},
	{name: "job.list.1000", unit: "ms", measure: listJobs},
	{name: "job.neighbour.alone", unit: "us", measure: neighbour(false, false)},
	{name: "job.neighbour", unit: "us", base: "job.neighbour.alone", measure: neighbour(true, false)},
	{name: "job.neighbour.worst.alone", unit: "us", measure: neighbour(false, true)},
	{name: "job.neighbour.worst", unit: "us", base: "job.neighbour.worst.alone", measure: neighbour(true, true)},
}

// jobRoot is the directory of jobs and containers in benchmark machines. A job may have jobMemMiB.
const (
	jobRoot   = "/run/jobs"
	jobMemMiB = 64
	jobProcs  = 100
	jobFiles  = 1024
)

// jobStarter has commands that start and end a job; the job's name is the last argument.
type jobStarter struct {
	machine     func(c *cluster.Cluster) *cluster.Machine // on which they run
	prepare     func(m *cluster.Machine, name string) error
	start, stop []string
}

func onFront(c *cluster.Cluster) *cluster.Machine { return c.Front }
func onNode(c *cluster.Cluster) *cluster.Machine  { return c.Nodes[0] }

var bprocJobs = jobStarter{
	machine: onFront,
	prepare: func(m *cluster.Machine, name string) error {
		return writeJob(m, name, []string{"sleep", "1000"})
	},
	start: []string{"env", "BPJOB_ROOT=" + jobRoot, "bpjob", "start", "-N", "0"},
	stop:  []string{"env", "BPJOB_ROOT=" + jobRoot, "bpjob", "stop"},
}

// writeJob writes the job file of a job: a program with its arguments, and more keys.
func writeJob(m *cluster.Machine, name string, argv []string, keys ...string) error {
	args, err := json.Marshal(argv[1:]) // JSON is also YAML
	if err != nil {
		return err
	}
	text := fmt.Sprintf("processes:\n- name: %s\n  executable: %s\n  args: %s\n  limits: {memory: %dM, processes: %d, open_files: %d}\n",
		name, argv[0], args, jobMemMiB, jobProcs, jobFiles)
	for _, key := range keys {
		text += "  " + key + "\n"
	}
	return m.WriteFile(jobRoot+"/jobs/"+name+"/config/bpm.yml", text, 0o644)
}

var runcJobs = jobStarter{
	machine: onNode,
	prepare: func(m *cluster.Machine, _ string) error {
		config, err := json.Marshal(runcConfig())
		if err != nil {
			return err
		}
		return errors.Join(m.WriteFile(jobRoot+"/bundle/config.json", string(config), 0o644),
			m.WriteFile(jobRoot+"/bundle/rootfs/.keep", "", 0o644), m.WriteFile(jobRoot+"/tmp/.keep", "", 0o644))
	},
	start: []string{"runc", "--root", jobRoot + "/runc", "run", "-d", "-b", jobRoot + "/bundle"},
	stop:  []string{"runc", "--root", jobRoot + "/runc", "delete", "-f"},
}

// jobDirs are the node's directories that a job sees.
var jobDirs = []string{"/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"}

type object = map[string]any

// runcConfig is bpjail's isolation as a config.json, with a PID namespace instead of Landlock, and
// without a system call filter, which would slow runc down.
func runcConfig() object {
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc", "options": []string{"nosuid", "noexec", "nodev"}},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=64k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}},
		{"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": []string{"nosuid", "noexec", "nodev"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	for _, dir := range jobDirs {
		mounts = append(mounts, object{"destination": dir, "type": "bind", "source": dir, "options": []string{"rbind", "ro", "nodev"}})
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		mounts = append(mounts, object{"destination": dir, "type": "bind", "source": jobRoot + "/tmp", "options": []string{"rbind", "rw", "nosuid", "nodev", "noexec"}})
	}
	var namespaces []object
	for _, kind := range []string{"pid", "ipc", "uts", "mount"} {
		namespaces = append(namespaces, object{"type": kind})
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": 0, "gid": 0}, "args": []string{"sleep", "1000"}, "env": []string{"PATH=/usr/bin:/bin"}, "cwd": "/",
			"capabilities": object{}, "noNewPrivileges": true,
			"rlimits": []object{{"type": "RLIMIT_NOFILE", "hard": jobFiles, "soft": jobFiles}},
		},
		"root": object{"path": "rootfs", "readonly": true}, "hostname": "job", "mounts": mounts,
		"linux": object{
			"resources":     object{"memory": object{"limit": jobMemMiB << 20}, "pids": object{"limit": jobProcs}},
			"namespaces":    namespaces,
			"maskedPaths":   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"},
			"readonlyPaths": []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
}

// podman returns the command with its directories below jobRoot. Its containers have no log, like
// the others on the node.
func podman(words ...string) []string {
	return append([]string{
		"podman", "--root", jobRoot + "/podman", "--runroot", jobRoot + "/podman-run", "--storage-driver", "vfs",
		"--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc",
	}, words...)
}

var podmanJobs = jobStarter{
	machine: onNode,
	prepare: func(m *cluster.Machine, _ string) error {
		script := "#!/bin/sh\nexec " + strings.Join(podman("run", "-d", "--name", `"$1"`, "--network", "host", "--ulimit", fmt.Sprintf("nofile=%d:%d", jobFiles, jobFiles), "--ulimit", "nproc=1000:1000",
			"--read-only", "--memory", fmt.Sprintf("%dm", jobMemMiB), "--pids-limit", strconv.Itoa(jobProcs), "--cap-drop", "all", "--security-opt", "no-new-privileges"), " ")
		for _, dir := range jobDirs {
			if dir != "/etc" { // podman makes files there
				script += " -v " + dir + ":" + dir + ":ro"
			}
		}
		script += " --rootfs " + jobRoot + "/podman-rootfs sleep 1000\n"
		return errors.Join(m.WriteFile(jobRoot+"/podman-start", script, 0o755), m.WriteFile(jobRoot+"/podman-rootfs/.keep", "", 0o644))
	},
	start: []string{jobRoot + "/podman-start"},
	stop:  podman("rm", "-f", "-t", "0"),
}

// with returns a command with one more argument.
func with(argv []string, arg string) []string { return append(argv[:len(argv):len(argv)], arg) }

// startJob measures a start, which returns when the program is executed.
func startJob(s jobStarter) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		const count = 20
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		m := s.machine(c)
		if err := s.prepare(m, "bench"); err != nil {
			return 0, err
		}
		alternate, err := program("alternate.c")
		if err != nil {
			return 0, err
		}
		argv := append([]string{alternate, strconv.Itoa(count)}, with(s.start, "bench")...)
		text, err := output(ctx, m, append(append(argv, "--"), with(s.stop, "bench")...)...)
		if err != nil {
			return 0, err
		}
		var micros float64
		_, err = fmt.Sscan(text, &micros)
		return micros / 1000, err
	}
}

// jobMemory measures the memory of an idle job on the front end and on its node, with its
// supervisors.
func jobMemory(s jobStarter) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (_ float64, err error) {
		const count = 20
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		both := func() (float64, error) {
			front, err := c.Front.Charged()
			if err != nil {
				return 0, err
			}
			node, err := c.Nodes[0].Charged()
			return front + node, err
		}
		m := s.machine(c)
		all := func(argv []string, first, end int) error {
			for i := first; i < end; i++ {
				// Runc's container inherits the outputs of its caller, which would wait for their
				// end.
				quiet := append([]string{"sh", "-c", `exec "$@" </dev/null >/dev/null 2>&1`, "sh"}, argv...)
				if _, err := output(ctx, m, with(quiet, fmt.Sprint("bench", i))...); err != nil {
					return err
				}
			}
			return nil
		}
		for i := range count + 1 {
			if err := s.prepare(m, fmt.Sprint("bench", i)); err != nil {
				return 0, err
			}
		}
		if err := all(s.start, 0, 1); err != nil { // what is needed only once
			return 0, err
		}
		defer func() { err = errors.Join(err, all(s.stop, 0, count+1)) }()
		before, err := both()
		if err != nil {
			return 0, err
		}
		if err := all(s.start, 1, count+1); err != nil {
			return 0, err
		}
		after, err := both()
		return (after - before) / count / 1024, err
	}
}

// listJobs measures "bpjob list" with 1,000 jobs that have run.
func listJobs(ctx context.Context, b *bench) (float64, error) {
	const count = 1000
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	const root = "/run/many"
	// One runs, and the others are copies of its records.
	script := fmt.Sprintf(`cd %s && BPJOB_ROOT=$PWD bpjob run -N 0 list0 && for i in $(seq %d); do
		mkdir -p jobs/list$i/config sys/run/bpm/list$i && sed s/list0/list$i/ jobs/list0/config/bpm.yml >jobs/list$i/config/bpm.yml &&
		cp sys/run/bpm/list0/list0.json sys/run/bpm/list$i/list$i.json && cp sys/run/bpm/list0/list0.lock sys/run/bpm/list$i/list$i.lock || exit
	done`, root, count-1)
	if err := c.Front.WriteFile(root+"/jobs/list0/config/bpm.yml", "processes: [{name: list0, executable: 'true'}]\n", 0o644); err != nil {
		return 0, err
	}
	if _, err := output(ctx, c.Front, "sh", "-c", script); err != nil {
		return 0, err
	}
	list := []string{"env", "BPJOB_ROOT=" + root, "bpjob", "list"}
	text, err := output(ctx, c.Front, list...)
	if err != nil {
		return 0, err
	}
	if lines := strings.Count(text, " finished "); lines != count {
		return 0, fmt.Errorf("%d of %d jobs are listed", lines, count)
	}
	spawner, err := program("spawn.c")
	if err != nil {
		return 0, err
	}
	if text, err = output(ctx, c.Front, append([]string{spawner, "20", "1"}, list...)...); err != nil {
		return 0, err
	}
	var micros float64
	_, err = fmt.Sscan(text, &micros)
	return micros / 1000, err
}

// neighbours are hostile jobs: a fork bomb, and a program that takes all memory that it may have.
var neighbours = map[string]string{
	"bomb": "exec perl -e 'while (1) { fork }'",
	"hog":  "x=x; while :; do x=$x$x; done",
}

// neighbour measures the time in which a job's service answers: the median, or the 99th percentile,
// with or without bad neighbours on its node.
func neighbour(beside, worst bool) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (_ float64, err error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		service, err := program("neighbour.c")
		if err != nil {
			return 0, err
		}
		err = writeJob(c.Front, "service", []string{service, "1000"}, "unsafe: {unrestricted_volumes: [{path: "+filepath.Dir(service)+", allow_executions: true}]}")
		if err != nil {
			return 0, err
		}
		if beside {
			defer func() { err = errors.Join(err, endNeighbours(ctx, c)) }()
			if err := startNeighbours(ctx, c); err != nil {
				return 0, err
			}
		}
		text, err := output(ctx, c.Front, "env", "BPJOB_ROOT="+jobRoot, "bpjob", "run", "-N", "0", "service")
		if err != nil {
			return 0, err
		}
		var median, most float64
		if _, err := fmt.Sscan(text, &median, &most); err != nil || !worst {
			return median, err
		}
		return most, nil
	}
}

func startNeighbours(ctx context.Context, c *cluster.Cluster) error {
	for name, script := range neighbours {
		if err := writeJob(c.Front, name, []string{"sh", "-c", script}, "restart: {when: always, delay: 100ms, max_delay: 100ms}", "shutdown_timeout: 1s"); err != nil {
			return err
		}
		if _, err := output(ctx, c.Front, with(bprocJobs.start, name)...); err != nil {
			return err
		}
	}
	return nil
}

func endNeighbours(ctx context.Context, c *cluster.Cluster) error {
	var errs []error
	for name := range neighbours {
		res, err := c.Front.Exec(ctx, cluster.Root, with(bprocJobs.stop, name)...) // it reports a failure if it had to kill
		if err == nil && res.Code != 0 {
			err = fmt.Errorf("stop %s: %s", name, res.Stderr)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

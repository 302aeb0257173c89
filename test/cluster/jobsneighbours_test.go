package cluster_test

import (
	"fmt"
	"strconv"
	"strings"

	"bproc/internal/probe"
)

// neighbour starts a process of a job of the same user on the same node, and returns its number.
// The process has opened a file, has ipc(7) objects and waits.
func (j *jobs) neighbour(name string) string {
	j.t.Helper()
	const script = `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.shmget(4711, 4096, 0o1666) >= 0 and libc.semget(4711, 1, 0o1666) >= 0 and libc.msgget(4711, 0o1666) >= 0
assert libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
open("/dev/shm/neighbours", "w")
open("/tmp/neighbours", "w")
print("ready", flush=True)
time.sleep(1000)
`
	j.tool(name, "holder", "#!/usr/bin/python3"+script)
	j.write(name, process(name, "exec holder", "ephemeral_disk: true"))
	j.owned(name)
	j.run("start", "-N", j.at(), name)
	j.t.Cleanup(func() { j.try("stop", name) })
	j.awaitLog(name, "stdout", "ready\n")
	return strings.TrimSpace(j.run("pid", name))
}

// asNeighbour runs a script as a job of the same user, and returns its output.
func (j *jobs) asNeighbour(name, script string, keys ...string) string {
	j.t.Helper()
	j.write(name, process(name, script, keys...))
	j.owned(name)
	return j.try("run", "-N", j.at(), name).Stdout
}

// jobNeighbours test two jobs of the same user on the same node.
var jobNeighbours = []jobCase{
	{"a neighbour's processes cannot be seen", func(j *jobs, n string) {
		pid := j.neighbour(n + "-other")
		j.equal("seen", j.asNeighbour(n, "for f in stat status maps environ fd cwd root task ns; do test -e /proc/"+pid+"/$f && echo $f; done; pgrep -x holder"), "")
	}},
	{"a neighbour's processes cannot be touched", func(j *jobs, n string) {
		pid := j.neighbour(n + "-other")
		signals := "0, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL"
		if version, err := probe.Landlock(); err != nil {
			j.t.Fatal(err)
		} else if version < probe.LandlockSignals { // this kernel allows them, as "bpctl check" says
			signals = ""
		}
		got := j.asNeighbour(n, `exec python3 -c '
import ctypes, os, signal, resource
pid = `+pid+`
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(8)
class Vec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
vec = Vec(ctypes.addressof(buf), 8)
def call(name, f):
    try: done = f() != -1
    except OSError: done = False
    if done: print(name)
for s in [`+signals+`]:
    call("kill", lambda: os.kill(pid, s))
    call("kill of its group", lambda: os.killpg(pid, s))
    call("kill of all", lambda: os.kill(-1, s))
call("prlimit", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (5, 5)))
call("ptrace", lambda: libc.ptrace(16, pid, 0, 0))
call("process_vm_readv", lambda: libc.process_vm_readv(pid, ctypes.byref(vec), 1, ctypes.byref(vec), 1, 0))
call("pidfd_getfd", lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0))
call("memory", lambda: os.open("/proc/%d/mem" % pid, os.O_RDWR))
'`)
		j.equal("possible", got, "")
		j.equal("state", j.status(n+"-other").State, "running")
	}},
	{"processes elsewhere cannot be signalled", func(j *jobs, n string) {
		j.write(n+"-other", process(n+"-other", "exec sleep 1000"))
		j.owned(n + "-other")
		j.run("start", "-N", strconv.Itoa((j.node+1)%len(j.Nodes)), n+"-other")
		j.t.Cleanup(func() { j.try("stop", n+"-other") })
		got := j.asNeighbour(n, `exec python3 -c '
import ctypes, errno, os, signal
pid = `+strings.TrimSpace(j.run("pid", n+"-other"))+`
libc = ctypes.CDLL(None, use_errno=True)
def call(name, f):
    try: done, why = f(), ctypes.get_errno()
    except OSError as e: done, why = -1, e.errno
    print(name, done if done != -1 else errno.errorcode[why])
call("kill", lambda: os.kill(pid, 15))
call("kill of its group", lambda: os.killpg(pid, 15))
call("tgkill", lambda: libc.tgkill(pid, pid, 15))
call("sigqueue", lambda: libc.sigqueue(pid, 15, ctypes.c_void_p(0)))
call("pidfd_open", lambda: os.pidfd_open(pid))
call("kill of the own group", lambda: os.kill(0, 0))
'`)
		j.equal("calls", got, "kill ESRCH\nkill of its group ESRCH\ntgkill ESRCH\nsigqueue ESRCH\npidfd_open ESRCH\nkill of the own group None\n")
		j.equal("state", j.status(n+"-other").State, "running")
	}},
	{"a neighbour's objects of ipc are out of reach", func(j *jobs, n string) {
		j.neighbour(n + "-other")
		got := j.asNeighbour(n, `exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 0, 0), libc.semget(4711, 0, 0), libc.msgget(4711, 0), libc.mq_open(b"/queue", os.O_RDWR), os.listdir("/dev/shm"), os.listdir("/dev/mqueue"))
'`)
		j.equal("objects", got, "-1 -1 -1 -1 [] []\n")
	}},
	{"a neighbour's files are out of reach", func(j *jobs, n string) {
		j.neighbour(n + "-other")
		other := n + "-other"
		j.equal("found", j.asNeighbour(n, "find /dev /tmp /var/tmp "+jobRoot+" -name neighbours 2>/dev/null; ls -d "+jobRoot+"/*/"+other+" "+jobRoot+"/sys/*/"+other+" 2>/dev/null"), "")
		j.equal("made", j.asNeighbour(n, "mkdir -p "+jobRoot+"/data/"+other+" 2>/dev/null && echo yes"), "")
	}},
	{"a neighbour's limits cannot be changed", func(j *jobs, n string) {
		j.neighbour(n + "-other")
		j.equal("control groups", j.asNeighbour(n, "find /sys/fs/cgroup -name 'pids.max' -o -name cgroup.procs; mount -t cgroup2 x /tmp 2>/dev/null && echo mounted"), "")
	}},
	{"each job has its share of the processors", func(j *jobs, n string) {
		got := j.says(n, "grep -E ':cpu[,:]' /proc/self/cgroup || cat /proc/self/cgroup")
		if !strings.Contains(got, "/job-"+n+":"+n+":") {
			j.t.Errorf("it has none of its own: %s", got)
		}
	}},
	{"a neighbour's host name is its own", func(j *jobs, n string) {
		j.start(n+"-other", "hostname changed; hostname; exec sleep 1000", "unsafe: {privileged: true}")
		node := j.on(j.machine(), "hostname").Stdout
		j.awaitLog(n+"-other", "stdout", "changed\n")
		j.equal("host name", j.says(n, "hostname"), node)
		j.equal("of the node", j.on(j.machine(), "hostname").Stdout, node)
	}},
	{"a neighbour that forks without end is alone with it", func(j *jobs, n string) {
		j.start(n+"-other", "b() { b | b & }; b; echo ready; exec sleep 1000", "limits: {processes: 50}")
		j.awaitLog(n+"-other", "stdout", "ready\n")
		j.equal("a neighbour's forks", j.says(n, "for i in $(seq 100); do /bin/true || echo no; done"), "")
		j.run("stop", n+"-other")
	}},
	{"a neighbour that takes all of its memory is alone with it", func(j *jobs, n string) {
		j.start(n+"-other", "exec python3 -c 'x = bytearray(300 << 20)'", "limits: {memory: 64M}", "restart: {when: always, delay: 100ms, max_delay: 100ms}")
		j.await(n+"-other", "killed twice", func(k jobStatus) bool { return k.Runs > 2 })
		j.equal("a neighbour's memory", j.says(n, "python3 -c 'x = bytearray(100 << 20); print(len(x))'", "limits: {memory: 200M}"), fmt.Sprintln(100<<20))
		j.run("stop", n+"-other")
	}},
	{"a sidecar is reached by localhost", func(j *jobs, n string) {
		j.start(n+"-other", "exec python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 7083)); print(\"ready\", flush=True); s.accept()[0].sendall(b\"hello\")'")
		j.awaitLog(n+"-other", "stdout", "ready\n")
		j.equal("answer", j.says(n, "python3 -c 'import socket; print(socket.create_connection((\"127.0.0.1\", 7083)).recv(5))'"), "b'hello'\n")
	}},
}

package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// onNode repeats a command on a node until it prints the wanted text: a service may still be
// starting.
func (j *jobs) onNode(node int, want string, argv ...string) {
	j.t.Helper()
	j.onMachine(j.Nodes[node], want, argv...)
}

func (j *jobs) onMachine(m *cluster.Machine, want string, argv ...string) {
	j.t.Helper()
	deadline := time.Now().Add(limit.Scaled(time.Minute))
	for {
		res := j.on(m, argv[0], argv[1:]...)
		if strings.TrimSpace(res.Stdout) == want {
			return
		}
		if time.Now().After(deadline) {
			j.t.Fatalf("%v on %s: got %+v, want %q", argv, m.Name, res, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// owned gives a job to a user.
func (j *jobs) owned(job string) {
	j.t.Helper()
	j.on(j.Front, "chown", "12345:12345", jobRoot+"/jobs/"+job+"/config/bpm.yml")
}

// serviceRule makes a service restart after each end.
const serviceRule = "  restart: {when: always, delay: 100ms, max_delay: 1s}\n"

// service is a service as a job.
type service struct {
	job, process string
	check        func() // checks that it serves, with all of its data
	stack        bool   // SIGTERM does not end it, and it prints its stacks
}

func (s *service) String() string { return s.job + "." + s.process }

// TestJobServices runs real services as jobs: a database with persistent data, a server with a
// sidecar, and a program that forks. Each is killed on the front end, loses its node, and is
// stopped.
func TestJobServices(t *testing.T) {
	t.Parallel()
	j := &jobs{Cluster: cluster.Start(t, cluster.Config{Nodes: 3, MasterConfig: "lease 3\n"}), t: t, node: 1}
	j.on(j.machine(), "mkdir", "-p", jobRoot+"/store")
	services := []*service{j.redis(), j.nginx(), j.sidecar(), j.forker()}
	for _, s := range services {
		j.run("start", "-p", s.process, s.job)
	}
	serve := func(when string, runs int) {
		t.Helper()
		for _, s := range services {
			k := j.awaitProcess(s.job, s.process, when, func(k jobStatus) bool { return k.State == "running" && k.Runs >= runs })
			if k.Node == nil || *k.Node != j.node || runs < 3 && k.Runs != runs { // a cut may take several tries
				t.Errorf("%v %s: got %+v, want run %d on node %d", s, when, k, runs, j.node)
			}
		}
		for _, s := range services {
			s.check()
		}
	}
	serve("at first", 1)
	for _, s := range services {
		pid := j.status("-p", s.process, s.job).PID
		if err := j.Front.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	serve("after a kill", 2)

	if err := j.Cut(j.node); err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		j.awaitProcess(s.job, s.process, "lost with its node", func(k jobStatus) bool { return k.State != "running" })
		if b, err := j.Front.ReadFile(jobRoot + "/sys/log/" + s.job + "/bpm.log"); err != nil || !strings.Contains(string(b), "node down") {
			t.Errorf("%v: %v, %s", s, err, b)
		}
	}
	if err := j.Heal(j.node); err != nil {
		t.Fatal(err)
	}
	if err := j.WaitUp(t.Context(), j.node); err != nil {
		t.Fatal(err)
	}
	serve("after its node was lost", 3)

	for _, s := range services {
		j.run("stop", "-p", s.process, s.job)
		if k := j.status("-p", s.process, s.job); k.State != "stopped" || k.Exit.Code != 0 && !s.stack || k.Exit.Signal == int(unix.SIGKILL) {
			t.Errorf("%v: got %+v, %+v", s, k, *k.Exit)
		}
		if log := j.log(s.job, "stderr"); strings.Contains(log, "goroutine 1 ") != s.stack {
			t.Errorf("%v: standard error: %s", s, log)
		}
	}
	if log := j.log("redis", "stdout"); !strings.Contains(log, "User requested shutdown") {
		t.Errorf("log of redis: %s", log)
	}
	j.equal("left on the node", j.on(j.machine(), "pgrep", "-l", "redis|nginx|forker").Stdout, "")
}

// redis is a database with persistent data: each check finds what the last one has left.
func (j *jobs) redis() *service {
	j.write("redis", "nodes: "+j.at()+`
processes:
- name: redis
  executable: redis-server
  args: [--port, 7000, --dir, `+jobRoot+`/store/redis, --appendonly, yes, --appendfsync, always]
  limits: {memory: 256M, open_files: 10000}
  persistent_disk: true
`+serviceRule)
	j.owned("redis")
	cli := func(words ...string) []string { return append([]string{"redis-cli", "-p", "7000"}, words...) }
	checks := 0
	return &service{job: "redis", process: "redis", check: func() {
		checks++
		j.onNode(j.node, "process_id:"+strconv.Itoa(j.pid("redis")), "sh", "-c", "redis-cli -p 7000 info server | grep ^process_id: | tr -d '\\r'")
		j.onNode(j.node, strconv.Itoa(checks), cli("incr", "checks")...)
		for i := range checks - 1 {
			j.onNode(j.node, fmt.Sprint("value ", i+1), cli("get", fmt.Sprint("key", i+1))...)
		}
		j.onNode(j.node, "OK", cli("set", fmt.Sprint("key", checks), fmt.Sprint("value ", checks))...)
	}}
}

// nginx is a server in front of a sidecar, which it reaches by localhost.
func (j *jobs) nginx() *service {
	j.write("web", "nodes: "+j.at()+`
processes:
- name: web
  executable: /usr/sbin/nginx
  args: [-e, stderr, -c, `+jobRoot+`/jobs/web/config/nginx.conf, -g, "daemon off;"]
`+serviceRule+`- name: sidecar
  executable: python3
  args: [-u, -c, 'import http.server as s, os, signal, sys; signal.signal(15, lambda *_: sys.exit()); os.chdir(sys.argv[1]); s.ThreadingHTTPServer(("127.0.0.1", 7081), s.SimpleHTTPRequestHandler).serve_forever()', `+jobRoot+`/jobs/web/pages]
`+serviceRule)
	j.owned("web")
	for name, text := range map[string]string{
		"pages/page": "hello",
		"config/nginx.conf": `
pid /tmp/nginx.pid;
worker_processes 2;
events {}
http {
  access_log /dev/stdout;
  client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f; uwsgi_temp_path /tmp/u; scgi_temp_path /tmp/s;
  server { listen 127.0.0.1:7080; location / { proxy_pass http://127.0.0.1:7081; } }
}
`,
	} {
		if err := j.Front.WriteFile(jobRoot+"/jobs/web/"+name, text, 0o644); err != nil {
			j.t.Fatal(err)
		}
	}
	checks := 0
	return &service{job: "web", process: "web", check: func() {
		checks++
		j.onNode(j.node, "hello", "python3", "-c", "import urllib.request as u; print(u.urlopen('http://127.0.0.1:7080/page').read().decode())")
		j.awaitLog("web", "stdout", "GET /page")
		if workers := j.on(j.Front, "pgrep", "-c", "-P", strconv.Itoa(j.pid("web"))).Stdout; workers != "2\n" {
			j.t.Errorf("check %d: the front end shows %s workers of nginx", checks, workers)
		}
	}}
}

func (j *jobs) sidecar() *service {
	return &service{job: "web", process: "sidecar", check: func() {}} // nginx's check covers it
}

// forker is a program that forks, from a file of the job.
func (j *jobs) forker() *service {
	j.write("forker", "nodes: "+j.at()+`
processes:
- name: forker
  executable: forker
  args: [4]
  limits: {processes: 100}
  shutdown_timeout: 1s
`+serviceRule)
	j.owned("forker")
	program := jobRoot + "/jobs/forker/bin/forker"
	j.on(j.Front, "install", "-D", cluster.Program(j.t, "testdata/forker.go"), program)
	checks := 0
	return &service{job: "forker", process: "forker", stack: true, check: func() {
		checks++
		j.awaitLog("forker", "stdout", strings.Repeat("ready\nforks\n", checks))
	}}
}

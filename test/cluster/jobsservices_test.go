package cluster_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// onNode runs a command on a node until it prints what is wanted: a service may still be coming up.
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

// TestJobRedis has a database with data that last: it is killed on the front end, cut off with its node, and stopped.
func TestJobRedis(t *testing.T) {
	j := startJobs(t, 1)
	j.write("redis", `
nodes: up
processes:
- name: redis
  executable: redis-server
  args: [--port, 7000, --dir, `+jobRoot+`/store/redis, --appendonly, yes, --appendfsync, always]
  limits: {memory: 256M, open_files: 10000}
  persistent_disk: true
  restart: {when: on-failure, delay: 100ms}
`)
	j.owned("redis")
	j.on(j.Nodes[0], "mkdir", "-p", jobRoot+"/store")
	j.run("start", "redis")
	cli := []string{"redis-cli", "-p", "7000"}
	j.onNode(0, "OK", append(cli, "set", "key", "first")...)
	pid, err := strconv.Atoi(strings.TrimSpace(j.run("pid", "redis")))
	if err != nil {
		t.Fatal(err)
	}
	j.onNode(0, "process_id:"+strconv.Itoa(pid), "sh", "-c", "redis-cli -p 7000 info server | grep ^process_id: | tr -d '\\r'")
	if err := j.Front.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	j.await("redis", "running again", func(k jobStatus) bool { return k.State == "running" && k.Runs == 2 })
	j.onNode(0, "first", append(cli, "get", "key")...)
	j.onNode(0, "OK", append(cli, "set", "key", "second")...)
	j.run("restart", "redis")
	j.onNode(0, "second", append(cli, "get", "key")...)
	j.run("stop", "redis")
	if k := j.status("redis"); k.State != "stopped" || k.Exit.Code != 0 || k.Exit.Signal != 0 {
		t.Errorf("got %+v, %+v", k, k.Exit)
	}
	if log := j.log("redis", "stdout"); !strings.Contains(log, "User requested shutdown") {
		t.Errorf("log: %s", log)
	}
}

// TestJobNginx has a server with a sidecar, which it reaches by localhost.
func TestJobNginx(t *testing.T) {
	j := startJobs(t, 1)
	j.write("web", `
nodes: '0'
processes:
- name: web
  executable: /usr/sbin/nginx
  args: [-e, stderr, -c, `+jobRoot+`/jobs/web/config/nginx.conf, -g, "daemon off;"]
- name: sidecar
  executable: python3
  args: [-u, -m, http.server, 7081, --bind, 127.0.0.1, --directory, `+jobRoot+`/jobs/web/pages]
`)
	j.owned("web")
	for name, text := range map[string]string{
		"pages/page": "hello",
		"config/nginx.conf": `
pid /tmp/nginx.pid;
events {}
http {
  access_log /dev/stdout;
  client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f; uwsgi_temp_path /tmp/u; scgi_temp_path /tmp/s;
  server { listen 127.0.0.1:7080; location / { proxy_pass http://127.0.0.1:7081; } }
}
`,
	} {
		if err := j.Front.WriteFile(jobRoot+"/jobs/web/"+name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j.run("start", "web")
	j.run("start", "-p", "sidecar", "web")
	j.onNode(0, "hello", "python3", "-c", "import urllib.request as u; print(u.urlopen('http://127.0.0.1:7080/page').read().decode())")
	j.awaitLog("web", "stdout", "GET /page")
	workers := j.on(j.Front, "pgrep", "-P", strings.TrimSpace(j.run("pid", "web"))).Stdout
	if workers == "" {
		t.Error("the front end shows no worker")
	}
	j.run("stop", "-p", "sidecar", "web")
	j.run("stop", "web")
	j.equal("left on the node", j.on(j.Nodes[0], "pgrep", "nginx").Stdout, "")
}

package cluster_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// nodeShell starts a shell on a node that sees the cluster in /proc, until the end of the test.
func nodeShell(t *testing.T, c *cluster.Cluster, user cluster.User, node int) *dialogue {
	t.Helper()
	return newDialogue(t, c, user, "bpsh", "--procfs", strconv.Itoa(node), "sh")
}

// observers are the processes of the observers themselves.
var observers = regexp.MustCompile(`(?m)^.* (ps|bpsh|bpns|sh|bpprocfs|bpprocfs-guard|bpprocfs-scout)\n`)

// TestNodeSeesCluster compares the output of ps on a node and on the front end, as different users.
func TestNodeSeesCluster(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	startView(t, c)
	for node, user := range []cluster.User{cluster.Alice, cluster.Bob, cluster.Root} {
		startRemote(t, c, user, node, tree...)
	}
	defer func() { ask(t, c.Front, cluster.Root, "pkill", "-KILL", "-f", "^sleep 1000") }() // their ghosts
	for node, user := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		cluster.Eventually(t, user.Name+" sees the same everywhere", func() error {
			command := []string{"ps", "-e", "-o", "pid,ppid,pgid,sid,tty,user,stat,args,comm"}
			want := observers.ReplaceAllString(inView(t, c, user, command...), "")
			res := bpsh(t, c, user, append([]string{"--procfs", strconv.Itoa(node)}, command...)...)
			got := observers.ReplaceAllString(res.Stdout, "")
			if res.Code != 0 || got != want || strings.Count(got, "\n") < 7 {
				return fmt.Errorf("on node %d ps shows\n%s\n%s\non the front end\n%s", node, got, res.Stderr, want)
			}
			return nil
		})
	}
}

// TestNodeViewIsOnesOwn checks a process in its own view: its number is that of its ghost, and its
// magic links are the kernel's.
func TestNodeViewIsOnesOwn(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	sh := nodeShell(t, c, cluster.Alice, 1)
	pid := sh.ask("echo $$")
	for command, want := range map[string]string{
		`read self rest </proc/self/stat; echo $self`:                        pid,
		`read self rest </proc/$$/stat; echo $self`:                          pid,
		`[ /proc/$$/exe -ef /proc/self/exe ] && echo same`:                   "same",
		`exec 5</etc/passwd; [ /proc/$$/fd/5 -ef /etc/passwd ] && echo same`: "same",
		`echo text | cat /dev/fd/0`:                                          "text",
		`echo 500 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj`:   "500",
		`kill -0 1 2>/dev/null || echo init is not mine`:                     "init is not mine",
		`[ -e /proc/sys/kernel/ostype ] && cat /proc/sys/kernel/ostype`:      "Linux",
	} {
		if got := sh.ask(command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	cluster.Eventually(t, "the shell is seen with what the front end knows of it", func() error {
		if got := sh.ask("grep BProcNode /proc/$$/status || echo none"); got != "BProcNode:\t1" {
			return fmt.Errorf("got %q", got)
		}
		ghost, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		p, err := c.Front.Proc(ghost)
		if got := sh.ask("ps -o ppid= -p $$ | tr -d ' '"); err != nil || got != strconv.Itoa(p.PPID) {
			return fmt.Errorf("its parent is %q, that of its ghost %+v, %v", got, p.PPID, err)
		}
		return nil
	})
	if got := sh.ask("stat -L -c %i /proc/$$/exe"); got != sh.ask("stat -L -c %i /bin/sh") {
		t.Errorf("what it executes is file %s", got)
	}
}

// TestNodeViewPermissions has users on nodes read private files.
func TestNodeViewPermissions(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	local := map[string]string{}  // processes of the front end, by owner
	remote := map[string]string{} // processes of node 2
	for _, user := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		r := startRemote(t, c, user, 2, "sh", "-c", "echo ready; exec sleep 1001")
		defer r.kill(unix.SIGKILL)
		client, err := r.bpsh.PID()
		if err != nil {
			t.Fatal(err)
		}
		local[user.Name], remote[user.Name] = strconv.Itoa(client), strconv.Itoa(r.ghost)
	}
	// A user without processes there that were started from the front end: root of the node can
	// become any user.
	imposter := []string{"setpriv", "--reuid", strconv.Itoa(int(cluster.Bob.UID)), "--regid", strconv.Itoa(int(cluster.Bob.GID)), "--clear-groups"}
	for _, tc := range []struct {
		name  string
		user  cluster.User
		as    []string
		whose string
		may   bool
	}{
		{"root of a node", cluster.Root, nil, "alice", false}, // before alice has read it there
		{"root of a node, root's", cluster.Root, nil, "root", false},
		{"somebody whom root of a node makes up", cluster.Root, imposter, "bob", false},
		{"other", cluster.Alice, nil, "bob", false},
		{"other, root's", cluster.Alice, nil, "root", false},
		{"owner", cluster.Alice, nil, "alice", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for what, pid := range map[string]string{"front end": local[tc.whose], "other node": remote[tc.whose]} {
				cluster.Eventually(t, "it is decided", func() error {
					argv := append(append([]string{"--procfs", "0"}, tc.as...), "sh", "-c", "cat /proc/"+pid+"/status >/dev/null && tr '\\0' '\\n' </proc/"+pid+"/environ | grep -c ^PATH=")
					res := bpsh(t, c, tc.user, argv...)
					switch {
					case tc.may && res.Stdout == "1\n":
						return nil
					case !tc.may && res.Stdout == "0\n" && strings.Contains(res.Stderr, "ermission denied"):
						return nil
					}
					return fmt.Errorf("%s: got %+v", what, res)
				})
			}
		})
	}
}

// TestNodeViewOverCut cuts a node off: no reader hangs, and the last known data are shown.
func TestNodeViewOverCut(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1001")
	looks := filepath.Join(scratch(t), "looks")
	sh := nodeShell(t, c, cluster.Alice, 0)
	pid := strconv.Itoa(r.ghost)
	cluster.Eventually(t, "the process of the other node is seen", func() error {
		if got := sh.ask("grep BProcNode /proc/" + pid + "/status || echo none"); got != "BProcNode:\t1" {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
	sh.ask("(while :; do ps -p " + pid + " -o comm= >>" + looks + "; cat /proc/" + pid + "/limits >/dev/null 2>&1; done) & echo looking")
	count := func() int {
		shown := strings.Fields(ask(t, c.Nodes[0], cluster.Root, "cat", looks))
		if slices.ContainsFunc(shown, func(name string) bool { return name != "sleep" }) {
			t.Fatalf("ps has shown %q", shown)
		}
		return len(shown)
	}
	cluster.Eventually(t, "somebody looks", func() error {
		_, err := c.Nodes[0].ReadFile(looks)
		return err
	})
	if err := c.Cut(0); err != nil {
		t.Fatal(err)
	}
	before := count()
	cluster.Eventually(t, "ps goes on", func() error {
		if n := count(); n < before+3 {
			return fmt.Errorf("%d looks, %d before", n, before)
		}
		return nil
	})
	if err := c.Heal(0); err != nil {
		t.Fatal(err)
	}
	r.kill(unix.SIGSTOP)
	cluster.Eventually(t, "a change is seen after that", func() error {
		if got := sh.ask("ps -o state= -p " + pid); got != "T" {
			return fmt.Errorf("got state %q", got)
		}
		return nil
	})
	r.kill(unix.SIGKILL)
}

// TestNodeViewIsKilled kills the server of a node's view, then the daemon of the node: a shell that
// was in the view must then be in the next one. A daemon that ends leaves nothing behind.
func TestNodeViewIsKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	node := c.Nodes[0]
	sh := nodeShell(t, c, cluster.Alice, 0)
	seen := func() error {
		if got := sh.ask("read name </proc/1/comm && echo $name || echo nothing"); got != "init" {
			return fmt.Errorf("the front end's init is %q", got)
		}
		return nil
	}
	cluster.Eventually(t, "the front end is seen", seen)
	servers, err := node.Named("bpprocfs")
	if err != nil || len(servers) != 1 {
		t.Fatalf("servers: %+v, %v", servers, err)
	}
	if err := node.Kill(servers[0].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "it is seen again", seen)
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "it is seen after the death of the daemon", seen)
	if err := c.Slaves[0].Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left := ask(t, node, cluster.Root, "sh", "-c", "ls -d /run/bproc/slave* | grep -v lock; grep /run/bproc /proc/mounts; true"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
	cluster.Eventually(t, "no process is left", func() error {
		for _, name := range []string{"bpprocfs", "bpprocfs-guard", "bpprocfs-scout"} {
			if left, err := node.Named(name); err != nil || len(left) > 0 {
				return fmt.Errorf("%s: %+v, %v", name, left, err)
			}
		}
		return nil
	})
}

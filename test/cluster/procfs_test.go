package cluster_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// viewDir is where bpns(1) looks for the view.
const viewDir = "/run/bproc/proc"

// startView mounts the view on the front end until the end of the test.
func startView(t *testing.T, c *cluster.Cluster) *cluster.Daemon {
	t.Helper()
	var d *cluster.Daemon
	t.Cleanup(func() { endView(t, c, d) })
	var err error
	if d, err = c.Front.StartDaemon(t.Context(), true, "bpprocfs", "--keep", viewDir); err != nil {
		t.Fatal(err)
	}
	return d
}

// endView ends the view, and unmounts the procfs that it leaves, so that a failed test, possibly
// with a killed view, does not affect the next one.
func endView(t *testing.T, c *cluster.Cluster, d *cluster.Daemon) {
	t.Helper()
	if t.Failed() {
		sweepView(t, c)
	}
	if d == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endTime)
	defer cancel()
	select {
	case <-d.Done(): // the test has ended it
	default:
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		sweepView(t, c)
		return
	}
	if res, err := c.Front.Exec(ctx, cluster.Root, "umount", "-R", viewDir); err != nil || res.Code != 0 {
		t.Errorf("umount: %+v, %v", res, err)
	}
}

// sweepView unmounts everything at the view's mount point, even if its server is dead.
func sweepView(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endTime)
	defer cancel()
	const sweep = `while grep -q " $0 " /proc/self/mounts; do umount -f $0 || umount -c -l $0 || exit; done 2>/dev/null`
	if res, err := c.Front.Exec(ctx, cluster.Root, "sh", "-c", sweep, viewDir); err != nil || res.Code != 0 {
		t.Errorf("unmount %s: %+v, %v", viewDir, res, err)
	}
}

// inView runs a command in the view, and returns its output.
func inView(t *testing.T, c *cluster.Cluster, user cluster.User, argv ...string) string {
	t.Helper()
	res, err := c.Front.Exec(t.Context(), user, append([]string{"bpns"}, argv...)...)
	if err != nil || res.Code != 0 {
		t.Fatalf("%q in the view: %+v, %v", argv, res, err)
	}
	return res.Stdout
}

// subject is a remote process that programs must show.
type subject struct {
	*remote

	what  string
	user  cluster.User
	state string
}

// mixed starts remote processes of many kinds, on three nodes.
func mixed(t *testing.T, c *cluster.Cluster) map[string]*subject {
	t.Helper()
	const perl = `$| = 1; print "ready\n"; `
	subjects := map[string]*subject{}
	for i, s := range []struct {
		what, state string
		user        cluster.User
		argv        []string
	}{
		{"idle", "S", cluster.Alice, []string{"sh", "-c", "echo ready; exec sleep 1001"}},
		{"spinning", "R", cluster.Bob, []string{"perl", "-e", perl + `1 while 1`}},
		{"stopped", "T", cluster.Root, []string{"sh", "-c", "echo ready; exec sleep 1002"}},
		{"parent of a zombie", "S", cluster.Alice, []string{"perl", "-e", `if (!fork) { sleep 1; exit 0 } ` + perl + `sleep 1003`}},
		{"threaded", "S", cluster.Alice, []string{"python3", "-c", "import threading, time\nfor i in range(3): threading.Thread(target=time.sleep, args=(1004,), daemon=True).start()\nprint('ready', flush=True)\ntime.sleep(1004)"}},
		{"oddly named", "S", cluster.Bob, []string{"perl", "-e", `$0 = "od) (d \\q[x]\n name"; ` + perl + `sleep 1005`}},
		{"deleted", "S", cluster.Alice, []string{"sh", "-c", "cp /bin/sleep /tmp/gone.$$; echo ready; exec /tmp/gone.$$ 1006"}},
	} {
		r := startRemote(t, c, s.user, i%3, s.argv...)
		subjects[s.what] = &subject{r, s.what, s.user, s.state}
	}
	subjects["stopped"].kill(unix.SIGSTOP)
	d := subjects["deleted"]
	cluster.Eventually(t, "the program runs, and is deleted", func() error {
		path := fmt.Sprintf("/tmp/gone.%d", d.ghost)
		if text := bpsh(t, c, cluster.Root, strconv.Itoa(d.node), "readlink", fmt.Sprintf("/proc/%d/exe", d.ghost)).Stdout; strings.TrimSpace(text) != path {
			return fmt.Errorf("it runs %q", text)
		}
		bpsh(t, c, cluster.Root, strconv.Itoa(d.node), "rm", path)
		return nil
	})
	cluster.Eventually(t, "all are seen", func() error {
		for _, s := range subjects {
			if res := inView(t, c, cluster.Root, "sh", "-c", fmt.Sprintf("grep -c BProcNode /proc/%d/status; true", s.ghost)); res != "1\n" {
				return fmt.Errorf("%s: got %q", s.what, res)
			}
		}
		return nil
	})
	return subjects
}

// TestProgramsSeeRemoteProcesses runs common programs that show processes, and compares their
// output with the nodes' own procfs.
func TestProgramsSeeRemoteProcesses(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	startView(t, c)
	subjects := mixed(t, c)
	t.Run("ps", func(t *testing.T) { psShows(t, c, subjects) })
	t.Run("files", func(t *testing.T) { filesAreTheNodes(t, c, subjects) })
	t.Run("threads", func(t *testing.T) { threadsAreShown(t, c, subjects["threaded"]) })
	t.Run("zombie", func(t *testing.T) { zombieIsShown(t, c, subjects["parent of a zombie"]) })
	t.Run("top", func(t *testing.T) { topShows(t, c, subjects["spinning"]) })
	t.Run("htop", func(t *testing.T) { htopShows(t, c, subjects) })
	t.Run("others", func(t *testing.T) { othersShow(t, c, subjects) })
	t.Run("lsof", func(t *testing.T) { lsofShows(t, c, subjects["idle"]) })
	t.Run("psutil", func(t *testing.T) { psutilShows(t, c, subjects) })
	t.Run("a node", func(t *testing.T) { nodeIsShown(t, c) })
	t.Run("the front end", func(t *testing.T) { frontEndIsShown(t, c) })
	t.Run("permissions", func(t *testing.T) { ownersLookInside(t, c, subjects["idle"]) })
	for _, s := range subjects {
		s.kill(unix.SIGKILL)
	}
}

// psShows compares the output of ps here and on the node.
func psShows(t *testing.T, c *cluster.Cluster, subjects map[string]*subject) {
	const columns = "pid,user,pgid,sid,nlwp,nice,psr,vsz,rss,lstart,comm,args"
	for _, s := range subjects {
		pid := strconv.Itoa(s.ghost)
		got := inView(t, c, cluster.Alice, "ps", "-ww", "-o", columns, "-p", pid)
		res := bpsh(t, c, cluster.Alice, strconv.Itoa(s.node), "ps", "-ww", "-o", columns, "-p", pid)
		if s.state != "R" && got != res.Stdout { // a running process moves between processors
			t.Errorf("%s: ps shows\n%sand on the node\n%s", s.what, got, res.Stdout)
		}
		if state := inView(t, c, cluster.Alice, "ps", "-o", "state=", "-p", pid); strings.TrimSpace(state) != s.state {
			t.Errorf("%s: ps shows state %q, want %s", s.what, state, s.state)
		}
	}
	all := inView(t, c, cluster.Bob, "ps", "aux")
	for _, s := range subjects {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +%d .* %s`, s.user.Name, s.ghost, s.state)).MatchString(all) {
			t.Errorf("%s, %d of %s: not in\n%s", s.what, s.ghost, s.user.Name, all)
		}
	}
	forest := inView(t, c, cluster.Root, "ps", "-ef", "--forest")
	idle := subjects["idle"]
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^alice +%d +%d .*\\_ sleep 1001$`, idle.ghost, idle.bpsh.Process.Pid)).MatchString(forest) &&
		!regexp.MustCompile(fmt.Sprintf(`(?m)^alice +%d .*\\_ sleep 1001$`, idle.ghost)).MatchString(forest) {
		t.Errorf("%d is not below its bpsh in\n%s", idle.ghost, forest)
	}
	if kernel := inView(t, c, cluster.Root, "ps", "-o", "comm=", "-p", "1"); kernel == "" {
		t.Error("ps does not show the front end's own init")
	}
}

// filesAreTheNodes compares files of an idle process with those on its node.
func filesAreTheNodes(t *testing.T, c *cluster.Cluster, subjects map[string]*subject) {
	s := subjects["idle"]
	for _, name := range []string{"maps", "limits", "environ", "cgroup", "io", "statm", "cmdline", "comm", "wchan", "task/%d/maps"} {
		file := fmt.Sprintf("/proc/%d/%s", s.ghost, strings.ReplaceAll(name, "%d", strconv.Itoa(s.ghost)))
		got := inView(t, c, s.user, "cat", file)
		if want := bpsh(t, c, s.user, strconv.Itoa(s.node), "cat", file); want.Code != 0 || got != want.Stdout {
			t.Errorf("%s: got %q, want %q", file, got, want.Stdout)
		}
	}
	for _, name := range []string{"smaps", "smaps_rollup"} { // shared memory is never the same twice
		if got := inView(t, c, s.user, "cat", fmt.Sprintf("/proc/%d/%s", s.ghost, name)); !strings.Contains(got, "\nPss:") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	odd := fmt.Sprintf("/proc/%d/", subjects["oddly named"].ghost)
	for _, name := range []string{"comm", "cmdline"} {
		got := inView(t, c, cluster.Bob, "cat", odd+name)
		if want := bpsh(t, c, cluster.Bob, strconv.Itoa(subjects["oddly named"].node), "cat", odd+name); want.Code != 0 || got != want.Stdout {
			t.Errorf("%s: got %q, want %q", odd+name, got, want.Stdout)
		}
	}
	for _, link := range []string{"exe", "cwd", "root", "fd/1"} {
		for _, s := range []*subject{s, subjects["deleted"]} {
			file := fmt.Sprintf("/proc/%d/%s", s.ghost, link)
			got := inView(t, c, s.user, "readlink", file)
			if want := bpsh(t, c, s.user, strconv.Itoa(s.node), "readlink", file); want.Code != 0 || got != want.Stdout {
				t.Errorf("%s of %s: got %q, want %q", file, s.what, got, want.Stdout)
			}
		}
	}
	if got := inView(t, c, cluster.Bob, "grep", "BProcNode", fmt.Sprintf("/proc/%d/status", s.ghost)); got != fmt.Sprintf("BProcNode:\t%d\n", s.node) {
		t.Errorf("line of the node: got %q, want node %d", got, s.node)
	}
	for node := range 3 {
		dir := fmt.Sprintf("/proc/bproc/nodes/%d/", node)
		if got := inView(t, c, cluster.Bob, "cat", dir+"state"); got != "up\n" {
			t.Errorf("state of node %d: got %q", node, got)
		}
		want := bpsh(t, c, cluster.Bob, strconv.Itoa(node), "cat", "/proc/version", "/proc/cpuinfo").Stdout
		want = regexp.MustCompile(`(?m)^cpu MHz.*\n`).ReplaceAllString(want, "")
		got := regexp.MustCompile(`(?m)^cpu MHz.*\n`).ReplaceAllString(inView(t, c, cluster.Bob, "cat", dir+"version", dir+"cpuinfo"), "")
		if got != want {
			t.Errorf("version and cpuinfo of node %d: got %q, want %q", node, got, want)
		}
		inView(t, c, cluster.Bob, "cat", dir+"stat", dir+"meminfo", dir+"loadavg", dir+"uptime", dir+"net/dev")
	}
}

func threadsAreShown(t *testing.T, c *cluster.Cluster, s *subject) {
	lines := strings.Split(inView(t, c, cluster.Bob, "ps", "-eLo", "pid,lwp,nlwp"), "\n")
	var threads []string
	for _, line := range lines {
		if f := strings.Fields(line); len(f) == 3 && f[0] == strconv.Itoa(s.ghost) {
			threads = append(threads, f[1])
		}
	}
	slices.Sort(threads)
	want := strings.Fields(bpsh(t, c, s.user, strconv.Itoa(s.node), "ls", fmt.Sprintf("/proc/%d/task", s.ghost)).Stdout)
	slices.Sort(want)
	if len(want) != 4 || !slices.Equal(threads, want) {
		t.Errorf("threads: got %v, want %v", threads, want)
	}
}

func zombieIsShown(t *testing.T, c *cluster.Cluster, s *subject) {
	cluster.Eventually(t, "a child that has ended is a zombie", func() error {
		got := strings.Fields(inView(t, c, cluster.Bob, "sh", "-c", fmt.Sprintf("ps --ppid %d -o state=,comm=; true", s.ghost)))
		if want := []string{"Z", "perl"}; !slices.Equal(got, want) {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// htopShows checks the screen of htop, which does not follow links in /proc.
func htopShows(t *testing.T, c *cluster.Cluster, subjects map[string]*subject) {
	idle, threaded := subjects["idle"], subjects["threaded"]
	pids := fmt.Sprintf("1,%d,%d", idle.ghost, threaded.ghost)
	tmux := []string{"tmux", "-S", "/run/htop.sock", "-f", "/dev/null"}
	ask(t, c.Front, cluster.Root, slices.Concat(tmux, []string{"new-session", "-d", "-x", "200", "-y", "50", "env", "TERM=screen", "bpns", "htop", "-C", "-p", pids})...)
	defer ask(t, c.Front, cluster.Root, slices.Concat(tmux, []string{"kill-server"})...)
	cluster.Eventually(t, "htop shows local and remote processes", func() error {
		screen := ask(t, c.Front, cluster.Root, slices.Concat(tmux, []string{"capture-pane", "-p"})...)
		for _, pattern := range []string{`(?m)^ +1 root `, fmt.Sprintf(`(?m)^ *%d alice .*sleep 1001`, idle.ghost), fmt.Sprintf(`(?m)^ *%d alice .*python3`, threaded.ghost)} {
			if !regexp.MustCompile(pattern).MatchString(screen) {
				return fmt.Errorf("no line %s on\n%s", pattern, screen)
			}
		}
		return nil
	})
}

// othersShow runs programs that search processes.
func othersShow(t *testing.T, c *cluster.Cluster, subjects map[string]*subject) {
	idle, odd := subjects["idle"], subjects["oddly named"]
	for _, step := range []struct{ command, want string }{
		{"pgrep -f 'sleep 1001'", fmt.Sprint(idle.ghost)},
		{"pgrep -u bob -f '^od\\) \\(d'", fmt.Sprint(odd.ghost)},
		{"pidof gone." + strconv.Itoa(subjects["deleted"].ghost), fmt.Sprint(subjects["deleted"].ghost)},
		{fmt.Sprintf("pstree -p %d", subjects["parent of a zombie"].ghost), fmt.Sprintf("perl(%d)---perl(", subjects["parent of a zombie"].ghost)},
		{"ps -eLf | grep '[s]leep 1001'", fmt.Sprint(idle.ghost)},
		{"cat <(echo substituted)", "substituted"},
		{"readlink /proc/self/exe /proc/$$/exe /dev/fd", "/proc/self/fd"},
		{"cat /proc/sys/kernel/hostname; echo 7 >/proc/self/oom_score_adj; cat /proc/$$/oom_score_adj", "front\n7"},
		{"sleep 1009 & until grep -q sleep /proc/$!/comm; do :; done; gdb -q -batch -p $! -ex 'info proc' 2>&1; kill $!", "cmdline = 'sleep 1009'"},
	} {
		if got := inView(t, c, cluster.Root, "bash", "-c", step.command); !strings.Contains(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.command, got, step.want)
		}
	}
	victim := startRemote(t, c, cluster.Alice, 2, "sh", "-c", "echo ready; exec sleep 1007")
	inView(t, c, cluster.Alice, "bash", "-c", "until pkill -f '^sleep 1007$'; do sleep 0.1; done")
	if code := victim.wait(); code != 128+int(unix.SIGTERM) {
		t.Errorf("pkill: bpsh ended with %d", code)
	}
}

package cluster_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/procfs"
	"bproc/test/cluster"
	"bproc/wire"
)

// tree is a shell with a child. Both are idle after the output "ready".
var tree = []string{"sh", "-c", "sleep 1000 & echo ready; wait"}

// family waits until a shell and its child are seen, idle, and returns them. The child, which does
// not end with the shell, ends with the test.
func (s *seen) family(r *remote) (shell, child procfs.Process) {
	s.t.Helper()
	cluster.Eventually(s.t, "a shell and its child are seen", func() error {
		s.refresh()
		shell = s.procs[wire.PID(r.ghost)]
		for _, p := range s.procs {
			if field(p.Stat, 4) == strconv.Itoa(r.ghost) && field(p.Stat, 2) == "(sleep)" && field(p.Stat, 3) == "S" && field(shell.Stat, 3) == "S" {
				child = p
				return nil
			}
		}
		return fmt.Errorf("the shell is %q, its child is not seen", shell.Stat)
	})
	s.t.Cleanup(func() {
		_ = r.c.Front.Kill(int(child.PID), unix.SIGKILL) // it has ended, unless the test failed
	})
	return shell, child
}

// field returns a field of a line of stat, by the numbers of proc_pid_stat(5). No name here has
// blanks.
func field(stat []byte, n int) string {
	if all := strings.Fields(string(stat)); n <= len(all) {
		return all[n-1]
	}
	return ""
}

// TestViewIsTheNodes compares the viewer's data with the node's own procfs, and with the ghosts
// where the front end knows better.
func TestViewIsTheNodes(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	view := startViewer(t, c, cluster.Root)
	for node := range 3 {
		r := startRemote(t, c, cluster.Alice, node, tree...)
		shell, child := view.family(r)
		for _, p := range []procfs.Process{shell, child} {
			if int(p.Node) != node || p.UID != cluster.Alice.UID || p.GID != cluster.Alice.GID || p.Threads != nil {
				t.Errorf("%d is seen on node %d, of user %d and group %d, with threads %v", p.PID, p.Node, p.UID, p.GID, p.Threads)
			}
			ghost, err := c.Front.Proc(int(p.PID))
			if err != nil {
				t.Fatal(err)
			}
			// Occasional work of the node for the process changes its counts.
			cluster.Eventually(t, fmt.Sprintf("%d is as its node shows it", p.PID), func() error {
				view.refresh()
				return sameTexts(t, c, view.procs[p.PID], ghost.PPID)
			})
		}
	}
}

var signals = regexp.MustCompile(`(?m)^SigQ:.*\n`)

// sameTexts compares the viewer's data of a process with its node's. SigQ counts the pending
// signals of all processes of the user: the viewer has its value at the last change of the process
// itself.
func sameTexts(t *testing.T, c *cluster.Cluster, p procfs.Process, parent int) error {
	t.Helper()
	stat := strings.Fields(nodeFile(t, c, p, "stat"))
	stat[4-1] = strconv.Itoa(parent)
	var status strings.Builder
	for line := range strings.Lines(nodeFile(t, c, p, "status")) {
		if strings.HasPrefix(line, "PPid:") {
			line = fmt.Sprintf("PPid:\t%d\n", parent)
		}
		status.WriteString(line)
	}
	fmt.Fprintf(&status, "BProcNode:\t%d\n", p.Node)
	for name, texts := range map[string][2]string{
		"stat":    {string(p.Stat), strings.Join(stat, " ") + "\n"},
		"status":  {signals.ReplaceAllString(string(p.Status), ""), signals.ReplaceAllString(status.String(), "")},
		"statm":   {string(p.Statm), nodeFile(t, c, p, "statm")},
		"cmdline": {string(p.Cmdline), nodeFile(t, c, p, "cmdline")},
		"cgroup":  {string(p.Cgroup), nodeFile(t, c, p, "cgroup")},
	} {
		if texts[0] != texts[1] {
			return fmt.Errorf("%s: got %q, want %q", name, texts[0], texts[1])
		}
	}
	return nil
}

// nodeFile reads a file of a process on its node. It reads as Bob: addresses are hidden from other
// users.
func nodeFile(t *testing.T, c *cluster.Cluster, p procfs.Process, name string) string {
	t.Helper()
	res := bpsh(t, c, cluster.Bob, strconv.Itoa(int(p.Node)), "cat", fmt.Sprintf("/proc/%d/%s", p.PID, name))
	if res.Code != 0 {
		t.Fatalf("%s of %d on node %d: %+v", name, p.PID, p.Node, res)
	}
	return res.Stdout
}

// TestViewTellsChanges has processes change by themselves and by others, and checks that nothing is
// told while they do not.
func TestViewTellsChanges(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	view := startViewer(t, c, cluster.Root)
	r := startRemote(t, c, cluster.Alice, 1, tree...)
	shell, child := view.family(r)
	cluster.Eventually(t, "nothing is told of idle processes", func() error {
		for _, p := range view.refresh().Changed {
			if p.PID == shell.PID || p.PID == child.PID {
				return fmt.Errorf("%d is told again: %q", p.PID, p.Stat)
			}
		}
		return nil
	})
	becomes := func(what string, is func(p procfs.Process) bool) {
		t.Helper()
		cluster.Eventually(t, what, func() error {
			view.refresh()
			if p := view.procs[child.PID]; !is(p) {
				return fmt.Errorf("the process is %q", p.Stat)
			}
			return nil
		})
	}
	if err := c.Front.Kill(int(child.PID), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	becomes("stopped", func(p procfs.Process) bool { return field(p.Stat, 3) == "T" })
	res := bpsh(t, c, cluster.Alice, "1", "renice", "-n", "15", "-p", child.PID.String())
	if res.Code != 0 {
		t.Fatalf("renice: %+v", res)
	}
	becomes("nice", func(p procfs.Process) bool { return field(p.Stat, 19) == "15" }) // the tests may be run by nice(1)
	if err := c.Front.Kill(int(shell.PID), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	becomes("adopted", func(p procfs.Process) bool {
		ghost, err := c.Front.Proc(int(child.PID))
		return err == nil && ghost.PPID != int(shell.PID) && field(p.Stat, 4) == strconv.Itoa(ghost.PPID)
	})
	if err := c.Front.Kill(int(child.PID), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "an end is seen", func() error {
		view.refresh()
		if p, ok := view.procs[child.PID]; ok {
			return fmt.Errorf("the process is %q", p.Stat)
		}
		return nil
	})
}

// TestViewShowsThreads checks a program with threads.
func TestViewShowsThreads(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	view := startViewer(t, c, cluster.Root)
	const program = `import threading, time
for i in range(3): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("ready", flush=True); time.sleep(1000)`
	r := startRemote(t, c, cluster.Alice, 2, "python3", "-c", program)
	cluster.Eventually(t, "four threads are seen", func() error {
		view.refresh()
		p := view.procs[wire.PID(r.ghost)]
		if len(p.Threads) != 4 {
			return fmt.Errorf("%d threads are seen", len(p.Threads))
		}
		for _, th := range p.Threads {
			if field(th.Stat, 1) != th.TID.String() || field(th.Stat, 4) != field(p.Stat, 4) || !strings.Contains(string(th.Status), fmt.Sprintf("Tgid:\t%d\n", p.PID)) {
				t.Errorf("thread %d: %q, %q", th.TID, th.Stat, th.Status)
			}
		}
		return nil
	})
}

// TestViewLooksUp reads files that are not told of all processes, as different users.
func TestViewLooksUp(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	const secret = "environ maps exe fd"
	for _, user := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		t.Run(user.Name, func(t *testing.T) {
			view := startViewer(t, c, user)
			cluster.Eventually(t, "the process is seen", func() error {
				if view.refresh(); field(view.procs[wire.PID(r.ghost)].Stat, 3) != "S" {
					return fmt.Errorf("the process is %q", view.procs[wire.PID(r.ghost)].Stat)
				}
				return nil
			})
			pid := wire.PID(r.ghost)
			may := user != cluster.Bob
			for _, q := range []struct {
				request viewRequest
				want    string // part of the result
			}{
				{viewRequest{"Read", pid, "environ"}, "PATH="},
				{viewRequest{"Read", pid, "maps"}, "[stack]"},
				{viewRequest{"Read", pid, "limits"}, "Max open files"},
				{viewRequest{"Read", pid, "task/" + pid.String() + "/status"}, "BProcNode:\t0\n"},
				{viewRequest{"Read", pid, "stat"}, fmt.Sprintf("%d (sleep) S %s ", pid, field(view.procs[pid].Stat, 4))},
				{viewRequest{"Link", pid, "exe"}, "/"},
				{viewRequest{"List", pid, "fd"}, "0"},
				{viewRequest{"Read", 0, "meminfo"}, "MemTotal:"},
			} {
				if q.request.PID == 0 {
					q.request.Call = "ReadNode"
				}
				reply := view.call(q.request)
				found := string(reply.Data)
				for _, e := range reply.Entries {
					found += e.Name + "\n"
				}
				switch hidden := slices.Contains(strings.Fields(secret), q.request.Path); {
				case hidden && !may:
					if reply.Errno != unix.EACCES && reply.Errno != unix.EPERM {
						t.Errorf("%v: got %q, errno %v", q.request, found, reply.Errno)
					}
				case reply.Err != "" || !strings.Contains(found, q.want):
					t.Errorf("%v: got %q, %s, want %q", q.request, found, reply.Err, q.want)
				}
			}
			for path, want := range map[string]unix.Errno{
				"mem": unix.ENOENT, "../1/stat": unix.ENOENT, "root/etc/passwd": unix.ELOOP, "cwd/.": unix.ENOENT, "exe": 0,
			} {
				if r := view.call(viewRequest{"Read", pid, path}); r.Err == "" || want != 0 && !errors.Is(r.Errno, want) {
					t.Errorf("%s: got %q, errno %v, want errno %v", path, r.Data, r.Errno, want)
				}
			}
		})
	}
}

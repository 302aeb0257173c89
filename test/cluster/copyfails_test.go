package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestCopyErrors has users make mistakes: one line names the node and the path, everything else is
// copied, and nothing else is left.
func TestCopyErrors(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	emptyCopies(t, c)
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		ask(t, m, cluster.Alice, "sh", "-c", "cd /dev/shm && echo text >file && mkdir -p dir/sub full && echo more >dir/sub/file && mkfifo fifo")
		ask(t, m, cluster.Root, "sh", "-c", "cd /dev/shm && mkdir -m 755 roots && mkdir -m 700 secret && echo x >secret/file && chmod 700 secret/file")
	}
	ask(t, c.Nodes[1], cluster.Alice, "sh", "-c", "cd /dev/shm && echo file >new && mkdir -m 555 dir2")
	ask(t, c.Nodes[1], cluster.Alice, "sh", "-c", "cd /dev/shm && mkdir -p into/x")
	for _, tc := range []struct {
		name, args string
		code       int
		mentions   []string
		there      []string // files of nodes that must exist: node/name
		missing    []string
	}{
		{"source is missing", "/dev/shm/none 1:/dev/shm/y", 1, []string{"/dev/shm/none", "no such file"}, nil, []string{"1/y"}},
		{"source is missing on a node", "2:/dev/shm/none /dev/shm/y", 1, []string{"node 2", "/dev/shm/none", "no such file"}, nil, []string{"-1/y"}},
		{"one source of two is missing", "/dev/shm/none /dev/shm/file 1:/dev/shm/full", 1, []string{"/dev/shm/none"}, []string{"1/full/file"}, nil},
		{"no permission to read", "2:/dev/shm/secret/file /dev/shm/y", 1, []string{"node 2", "/dev/shm/secret/file", "permission denied"}, nil, []string{"-1/y"}},
		{"no permission to write", "/dev/shm/file all:/dev/shm/roots/y", 1, []string{"node"}, nil, []string{"1/roots/y"}},
		{"a directory without -r", "/dev/shm/dir 1:/dev/shm/y", 1, []string{"/dev/shm/dir", "-r"}, nil, []string{"1/y"}},
		{"a FIFO without -r", "/dev/shm/fifo 1:/dev/shm/y", 1, []string{"/dev/shm/fifo", "-r"}, nil, []string{"1/y"}},
		{"no directory on one node", "/dev/shm/file /dev/shm/dir/sub 0-2:/dev/shm/new -r", 1, nil, nil, []string{"0/new"}},
		{"a file on one node where others have a directory", "-r /dev/shm/dir /dev/shm/file 0-3:/dev/shm/into", 1, nil, []string{"1/into/file", "1/into/dir/sub/file"}, []string{"0/into"}},
		{"the directory of the target", "/dev/shm/file 1:/dev/shm/no/y", 1, []string{"node 1", "/dev/shm/no"}, nil, []string{"1/no"}},
		{"the same file", "2:/dev/shm/file 1-3:/dev/shm/file", 1, []string{"node 2", "/dev/shm/file", "same file"}, []string{"1/file", "2/file", "3/file"}, nil},
		{"into itself", "-r 2:/dev/shm/dir 2:/dev/shm/dir/sub", 1, []string{"node 2", "/dev/shm/dir", "into itself"}, nil, []string{"2/dir/sub/dir"}},
		{"a device", "1:/dev/shm/file 2:/dev/null", 1, []string{"node 2", "/dev/null"}, nil, nil},
		{"no such node", "/dev/shm/file 1,17:/dev/shm/y", 1, []string{"node 17", "no such node"}, []string{"1/y"}, nil},
		{"no such working directory", "file 1:/dev/shm/y", 1, []string{"file"}, nil, nil},
		{"no node", "/dev/shm/file down:/dev/shm/y", 2, []string{"down"}, nil, nil},
		{"no such option", "-z /dev/shm/file 1:/dev/shm/y", 2, []string{"-z"}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := c.Front.Exec(t.Context(), cluster.Alice, append([]string{"bpcp"}, strings.Fields(tc.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(res.Stderr, "\n")
			if lines := strings.Count(res.Stderr, "\n"); lines > 1 && tc.mentions != nil && tc.mentions[0] != "node" {
				t.Errorf("standard error %q, want one line", res.Stderr)
			}
			wantError(t, cluster.Result{Code: res.Code, Stdout: res.Stdout, Stderr: first + "\n"}, "bpcp", tc.code, tc.mentions...)
			for _, file := range append(tc.there, tc.missing...) {
				id, name, _ := strings.Cut(file, "/")
				var node int
				_, _ = fmt.Sscan(id, &node)
				res, err := machines(c, node)[0].Exec(t.Context(), cluster.Root, "test", "-e", copyDir+"/"+name)
				if wanted := slices.Contains(tc.there, file); err != nil || (res.Code == 0) != wanted {
					t.Errorf("%s is there: %v, want %v", file, res.Code == 0, wanted)
				}
			}
			wantNothingTemporary(t, c)
			for _, m := range c.Nodes {
				ask(t, m, cluster.Root, "rm", "-f", copyDir+"/y")
			}
		})
	}
	emptyCopies(t, c)
}

// wantNothingTemporary checks that no copy has left an incomplete file.
func wantNothingTemporary(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		if got := ask(t, m, cluster.Root, "find", copyDir, "-name", ".bpcp.*"); got != "" {
			t.Errorf("%s: %s is left", m.Name, got)
		}
	}
}

// TestCopyFullDisk fills the disk of one node: the others get everything. Another node has no bpcp,
// which is reported.
func TestCopyFullDisk(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 4, NoSlaves: true})
	// The root of the process space is made when the slave starts.
	ask(t, c.Nodes[0], cluster.Root, "sh", "-c", "mkdir /dev/shm/small && mount -t tmpfs -o size=1m,mode=1777 small /dev/shm/small")
	ask(t, c.Nodes[3], cluster.Root, "mount", "-t", "tmpfs", "none", cluster.Prefix+"/bin")
	for i := range c.Nodes {
		token, err := c.Enroll(t.Context(), i)
		if err == nil {
			err = c.StartSlave(t.Context(), i, "--join", token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitUp(t.Context(), c.NodeIDs()...); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Alice, "sh", "-c", "mkdir -p /dev/shm/d && cd /dev/shm/d && for i in 1 2 3; do head -c 600000 /dev/urandom >$i; done")
	for _, m := range c.Nodes[1:] {
		ask(t, m, cluster.Alice, "mkdir", copyDir+"/small")
	}
	res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpcp", "-r", "/dev/shm/d", "0-2:/dev/shm/small")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpcp", 1, "node 0", "/dev/shm/small/d/", "no space left")
	wantCopies(t, c.Front, copyDir+"/d", c.Nodes[1:3], copyDir+"/small/d", "data")
	wantNothingTemporary(t, c)
	if got := ask(t, c.Nodes[0], cluster.Root, "sh", "-c", "cd /dev/shm/small/d && wc -c * | tail -n 1"); got != "600000 "+strings.Fields(got)[1] {
		t.Errorf("on the full disk: %s", got)
	}
	if res, err = c.Front.Exec(t.Context(), cluster.Alice, "bpcp", copyDir+"/d/1", "1,3:/dev/shm/one"); err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpcp", 1, "node 3", "not installed", "bproc-node")
	ask(t, c.Nodes[1], cluster.Alice, "cmp", copyDir+"/one", copyDir+"/small/d/1")
}

// largeFile is a file whose copy takes a while, on the front end.
const largeFile = copyDir + "/large"

// makeLarge makes the file with a number of bytes.
func makeLarge(t *testing.T, c *cluster.Cluster, bytes int) {
	t.Helper()
	ask(t, c.Front, cluster.Alice, "sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x >%s", bytes, largeFile))
}

// enough is more bytes than the buffers between machines hold.
const enough = 150_000_000

// held is a copy of the large file to all nodes that does not proceed, because the agent of one
// node is stopped.
type held struct {
	*cluster.Cmd
	stderr  *strings.Builder
	stopped cluster.Proc
	node    int
}

// holdCopy starts a copy to all nodes, and stops the agent of a node when others write.
func holdCopy(t *testing.T, c *cluster.Cluster, node int, args ...string) *held {
	t.Helper()
	h := &held{Cmd: c.Front.Command(t.Context(), cluster.Alice, append([]string{"bpcp"}, args...)...), stderr: new(strings.Builder), node: node}
	h.Stderr = h.stderr
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the agent runs", func() error {
		agents, err := c.Nodes[node].Named("bpcp")
		if err == nil && len(agents) != 1 {
			err = fmt.Errorf("there are %d", len(agents))
		}
		if err == nil {
			h.stopped = agents[0]
		}
		return err
	})
	cluster.Eventually(t, "the copy has begun", func() error { return writing(c.Nodes[(node+1)%len(c.Nodes)]) })
	if err := c.Nodes[node].Kill(h.stopped.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return h
}

// writing returns nil when an agent of the machine writes a file without a name.
func writing(m *cluster.Machine) error {
	agents, err := m.Named("bpcp")
	if err != nil {
		return err
	}
	for _, a := range agents {
		path, err := m.Path(fmt.Sprintf("/proc/%d/fd", a.PID))
		if err != nil {
			return err
		}
		files, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, f := range files {
			if to, err := os.Readlink(path + "/" + f.Name()); err == nil && strings.HasSuffix(to, " (deleted)") {
				return nil
			}
		}
	}
	return errors.New("no agent writes")
}

// TestCopyInterrupted interrupts a copy in the middle: nothing is left on any machine.
func TestCopyInterrupted(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	emptyCopies(t, c)
	makeLarge(t, c, enough)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGKILL} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			h := holdCopy(t, c, 3, largeFile, "all:/dev/shm/copy")
			if err := h.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := c.Nodes[3].Kill(h.stopped.PID, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			_ = h.Wait() // its state says how it ended
			if got := h.ProcessState.String(); !strings.Contains(got, "signal: ") || h.stderr.Len() > 0 {
				t.Errorf("it ended with %s and said %q, want a signal and nothing", got, h.stderr)
			}
			cluster.Eventually(t, "all agents end", func() error {
				for _, m := range c.Nodes {
					if agents, err := m.Named("bpcp"); err != nil || len(agents) > 0 {
						return fmt.Errorf("%s has %d, %v", m.Name, len(agents), err)
					}
				}
				return nil
			})
			for _, m := range c.Nodes {
				if got := ask(t, m, cluster.Root, "ls", "-A", copyDir); got != "" {
					t.Errorf("%s: %s is left", m.Name, got)
				}
			}
		})
	}
	emptyCopies(t, c)
}

// TestCopyAgentKilled kills the agent of a node that passes the stream on: only this node has no
// copy.
func TestCopyAgentKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	emptyCopies(t, c)
	makeLarge(t, c, enough)
	h := holdCopy(t, c, 0, largeFile, "all:/dev/shm/copy")
	if err := c.Nodes[0].Kill(h.stopped.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantLost(t, c, h, "node 0", "SIGKILL")
	if got := ask(t, c.Nodes[0], cluster.Root, "ls", "-A", copyDir); got != "" {
		t.Errorf("%s is left", got)
	}
	emptyCopies(t, c)
}

// wantLost checks that a copy has reached all nodes except one.
func wantLost(t *testing.T, c *cluster.Cluster, h *held, mentions ...string) {
	t.Helper()
	_ = h.Wait() // its state says how it ended
	wantError(t, cluster.Result{Code: h.ProcessState.ExitCode(), Stderr: h.stderr.String()}, "bpcp", 1, mentions...)
	for i, m := range c.Nodes {
		if i != h.node {
			ask(t, m, cluster.Root, "sh", "-c", fmt.Sprintf("cd %s && test $(tr -d x <copy | wc -c) = 0 && test $(wc -c <copy) = %d", copyDir, enough))
		}
	}
}

// TestCopyAgentStopped stops the agent of a node that passes the stream on, for good: the others
// get it in another way, and the node gets its copy after them.
func TestCopyAgentStopped(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	emptyCopies(t, c)
	makeLarge(t, c, enough)
	h := holdCopy(t, c, 0, largeFile, "all:/dev/shm/copy")
	_ = h.Wait() // its state says how it ended
	if got, want := h.stderr.String(), "bpcp: node 0: takes nothing; it gets its copy after the others\n"; got != want || h.ProcessState.ExitCode() != 0 {
		t.Errorf("got %d, %q, want 0, %q", h.ProcessState.ExitCode(), got, want)
	}
	for _, m := range c.Nodes {
		ask(t, m, cluster.Root, "sh", "-c", fmt.Sprintf("cd %s && test $(tr -d x <copy | wc -c) = 0 && test $(wc -c <copy) = %d", copyDir, enough))
	}
	emptyCopies(t, c)
	wantIdle(t, c)
}

// TestCopyNodeVanishes switches off a node that passes the stream on.
func TestCopyNodeVanishes(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 4, MasterConfig: "lease 5\n"})
	makeLarge(t, c, enough)
	h := holdCopy(t, c, 0, largeFile, "all:/dev/shm/copy")
	if err := c.Nodes[0].Off(); err != nil {
		t.Fatal(err)
	}
	wantLost(t, c, h, "node 0", "down")
}

// TestCopyWithoutConnections has machines that can reach each other only by their daemons'
// connections to the master: the stream goes over those.
func TestCopyWithoutConnections(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 4})
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		// The master's port is below these.
		for _, side := range []string{"to", "from"} {
			ask(t, m, cluster.Root, "ip", "rule", "add", side, "10.77.0.0/16", "ipproto", "tcp", "sport", "10000-65534", "dport", "10000-65534", "prohibit")
		}
	}
	for _, tc := range []struct {
		name, from, to string
		source         int
		targets        []int
	}{
		{"to all", "", "all", -1, []int{0, 1, 2, 3}},
		{"from a node", "1:", "-1", 1, []int{-1}},
		{"between all", "2:", "all,-1", 2, []int{0, 1, 2, 3, -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source := machines(c, tc.source)[0]
			ask(t, source, cluster.Alice, "python3", copyScript(t, "tree.py"), copyDir+"/original")
			ask(t, c.Front, cluster.Alice, "bpcp", "-rp", tc.from+copyDir+"/original", "--", tc.to+":"+copyDir+"/copy")
			wantCopies(t, source, copyDir+"/original", machines(c, tc.targets...), copyDir+"/copy")
			emptyCopies(t, c)
		})
	}
	makeLarge(t, c, 30_000_000)
	ask(t, c.Front, cluster.Alice, "bpcp", largeFile, "all:/dev/shm/copy")
	for _, m := range c.Nodes {
		if got := ask(t, m, cluster.Root, "wc", "-c", copyDir+"/copy"); !strings.HasPrefix(got, "30000000 ") {
			t.Errorf("%s: got %s", m.Name, got)
		}
	}
}

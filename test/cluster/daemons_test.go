package cluster_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestStart starts a second cluster beside the one that other tests share.
func TestStart(t *testing.T) {
	t.Parallel()
	shared := cluster.Shared(t, 4)
	own := cluster.Start(t, cluster.Config{Nodes: 4})
	for _, c := range []*cluster.Cluster{own, shared} {
		if res := bpsh(t, c, cluster.Alice, "all", "echo", "here"); res.Stdout != strings.Repeat("here\n", 4) {
			t.Errorf("got %+v", res)
		}
	}
}

// TestStopLeavesNothing ends the daemons of machines that stay on, with remote processes running,
// and checks what is left on the machines.
func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, NoSlaves: true})
	before := map[string][]string{}
	for _, n := range c.Nodes {
		before[n.Name] = inventory(t, n)
	}
	for i := range c.Nodes {
		token, err := c.Enroll(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartSlave(t.Context(), i, "--join", token); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitUp(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "sleep 1000 & echo ready; exec sleep 1000")
	for _, s := range c.Slaves {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	r.lost()
	for _, n := range c.Nodes {
		// The machine's init reaps the last of a daemon's children after the daemon has ended.
		cluster.Eventually(t, n.Name+" is as before", func() error {
			if after := inventory(t, n); !slices.Equal(after, before[n.Name]) {
				return fmt.Errorf("got %q, want %q", after, before[n.Name])
			}
			return nil
		})
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// inventory lists the processes, mounts and control groups of a machine.
func inventory(t *testing.T, m *cluster.Machine) []string {
	t.Helper()
	procs, err := m.Procs()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range procs {
		all = append(all, fmt.Sprint("process ", p.PID, p.Args))
	}
	mounts, err := m.ReadFile("/proc/1/mounts")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, string(mounts))
	groups, err := m.Path("/sys/fs/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(groups, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMasterRestart kills the master under a running process. The ghost stays, and the next master
// recognizes it.
func TestMasterRestart(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	program := cluster.Program(t, siglog)
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", fmt.Sprintf("echo ready; exec %s >/dev/null", program))
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, ghost := r.state(); ghost == "" || ghost == "Z" {
		t.Fatalf("without a master the ghost is %q", ghost)
	}
	r.kill(unix.SIGKILL) // waits in the keeper
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the process and its ghost have ended", func() error {
		if process, ghost := r.state(); process != "" || ghost != "" && ghost != "Z" {
			return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
		}
		return nil
	})
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the new master: got %+v", res)
	}
}

// TestKeeperKilled checks that ghosts go on without the keeper, and that the next one seizes them.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	tracer := func() (string, error) {
		status, err := c.Front.ReadFile(fmt.Sprintf("/proc/%d/status", r.ghost))
		_, after, _ := strings.Cut(string(status), "TracerPid:\t")
		line, _, _ := strings.Cut(after, "\n")
		return line, err
	}
	former, err := tracer()
	if err == nil {
		err = c.KillKeeper()
	}
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "a new keeper holds the ghost", func() error {
		now, err := tracer()
		if err == nil && (now == "0" || now == former) { // the killed keeper traces it until it has ended
			err = fmt.Errorf("%s traces it, before it was %s", now, former)
		}
		return err
	})
	r.kill(unix.SIGTERM)
	if code := r.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	r.gone()
}

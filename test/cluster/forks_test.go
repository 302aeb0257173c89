package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
	"bproc/test/cluster"
	"bproc/test/limit"
)

// forkScript makes a tree as shells do: a child, a pipeline, a grandchild whose parent has ended, a
// group and a session of their own.
const forkScript = `
sleep 1001 &
sleep 1002 | sleep 1003 &
(sleep 1004 & sleep 1005 & wait) &
(sleep 1006 &)
setsid -f sleep 1007
bash -c 'set -m; sleep 1008 & wait' &
until [ $(pgrep -xc sleep) = 8 ]; do :; done
echo ready
wait
`

// TestForks compares the tree that a script makes on its node with that of the ghosts.
func TestForks(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1}) // its pgrep must not find other sleeps
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", forkScript)
	cluster.Eventually(t, "the trees are the same", func() error { return sameTree(c, 0, r.ghost) })

	// Each of them can be killed on the front end.
	ghosts, err := c.Front.Named("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if len(ghosts) != 8 {
		t.Fatalf("%d ghosts of sleep, want 8", len(ghosts))
	}
	for _, g := range ghosts {
		if err := c.Front.Kill(g.PID, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	cluster.Eventually(t, "nothing runs any more", func() error { return idle(c) })
}

// sameTree compares all processes of a node's process space with their ghosts. root was started
// from the front end.
func sameTree(c *cluster.Cluster, node, root int) error {
	procs, err := c.Nodes[node].Procs()
	if err != nil {
		return err
	}
	numbers := map[int]int{0: 0} // process space's number by the machine's
	for _, p := range procs {
		numbers[p.PID] = p.Space
	}
	for _, p := range procs {
		if p.Space <= 1 || p.State == "Z" || p.Comm == standin.Name {
			continue // the init of the space
		}
		g, err := c.Front.Proc(p.Space)
		if err != nil {
			return fmt.Errorf("%v: %w", p.Args, err)
		}
		if g.Comm != p.Comm || strings.Join(g.Args, "\x00") != strings.Join(p.Args, "\x00") || g.UID != p.UID {
			return fmt.Errorf("the ghost of %+v is %+v", p, g)
		}
		if p.Space == root {
			continue // its parent, group and session are bpsh's
		}
		want := cluster.Proc{PPID: numbers[p.PPID], PGID: p.SpacePGID, SID: p.SpaceSID}
		if err := sameKin(c, root, want, g); err != nil {
			return fmt.Errorf("%v: %w", p.Args, err)
		}
	}
	return nil
}

// sameKin compares the relations of a ghost with those of its process, as far as they are within
// the tree of root. The parent of an orphan is init on both sides.
func sameKin(c *cluster.Cluster, root int, want, ghost cluster.Proc) error {
	r, err := c.Front.Proc(root)
	if err != nil {
		return err
	}
	if want.PGID == root {
		want.PGID = r.PGID
	}
	if want.SID == root || want.SID == 1 {
		want.SID = r.SID
	}
	if want.PPID != ghost.PPID || want.PGID != ghost.PGID || want.SID != ghost.SID {
		return fmt.Errorf("parent, group, session are %d %d %d, the ghost's %d %d %d",
			want.PPID, want.PGID, want.SID, ghost.PPID, ghost.PGID, ghost.SID)
	}
	return nil
}

// TestPrintedNumberWorks has the front end kill a number the moment it reads it, a thousand times:
// its ghost must exist.
func TestPrintedNumberWorks(t *testing.T) {
	t.Parallel()
	const loops = 4
	each := 250
	if cluster.Race || limit.Slow() { // a command takes ten times longer
		each = 25
	}
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	var all errgroup.Group
	for node := range loops {
		script := fmt.Sprintf(`
			for i in $(seq %d); do
				bpsh %d sh -c 'sleep 100 & echo $!; wait' | {
					read pid
					kill $pid || echo "round $i: $pid"
				}
			done`, each, node)
		all.Go(func() error {
			res, err := c.Front.Exec(t.Context(), cluster.Alice, "sh", "-c", script)
			if err == nil && (res.Stdout != "" || res.Stderr != "" || res.Code != 0) {
				err = fmt.Errorf("node %d: %+v", node, res)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// TestForkStorm has a node fork faster than ghosts can follow. No process may be lost or stay.
func TestForkStorm(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	res := bpsh(t, c, cluster.Alice, "all", "sh", "-c", "i=0; while [ $i -lt 1000 ]; do /bin/true & i=$((i+1)); done; wait; echo $i")
	if want := strings.Repeat("1000\n", len(c.Nodes)); res.Stdout != want || res.Code != 0 {
		t.Errorf("got %+v, want %q", res, want)
	}
}

// TestNumbersOfChildren checks that children have numbers of the node zone, which the front end's
// kernel does not give.
func TestNumbersOfChildren(t *testing.T) {
	t.Parallel()
	const nodeZone = 1 << 20
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	res := bpsh(t, c, cluster.Alice, "all", "sh", "-c", "sleep 0 & echo $!; wait")
	seen := map[string]bool{}
	for line := range strings.Lines(res.Stdout) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid < nodeZone || seen[line] {
			t.Errorf("got %q, want a number from %d on, each once", line, nodeZone)
		}
		seen[line] = true
	}
	if len(seen) != len(c.Nodes) {
		t.Errorf("got %+v, want a number from each node", res)
	}
}

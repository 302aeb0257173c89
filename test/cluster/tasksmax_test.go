package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// forksMany forks a number of children, which sleep. It prints how many it has got, how many were
// refused with EAGAIN, and how many ended before it ended them.
const forksMany = `
import errno, os, signal, sys, time
made, refused = [], 0
for i in range(int(sys.argv[1])):
    try:
        pid = os.fork()
    except OSError as e:
        if e.errno != errno.EAGAIN: raise
        refused += 1
        continue
    if pid == 0:
        signal.pause()
    made.append(pid)
time.sleep(3)
killed = sum(os.waitpid(pid, os.WNOHANG)[0] != 0 for pid in made)
for pid in made: os.kill(pid, signal.SIGTERM)
for pid in made[killed:]: os.wait()
print(len(made), refused, killed, flush=True)
sys.exit(refused > 0)
`

// inGroup runs a command of alice's in a control group of the front end with a limit of tasks.
func inGroup(t *testing.T, c *cluster.Cluster, tasks int, argv ...string) cluster.Result {
	t.Helper()
	const script = `
cd /sys/fs/cgroup
test ! -e pids/pids.current && test ! -d pids || cd pids
{ echo +pids >cgroup.subtree_control; } 2>/dev/null || true
mkdir -p limited
echo $1 >limited/pids.max
echo $$ >limited/cgroup.procs
uid=$2
shift 2
exec setpriv --reuid $uid --regid $uid --clear-groups "$@"
`
	args := append([]string{"sh", "-ec", script, "sh", strconv.Itoa(tasks), strconv.Itoa(int(cluster.Alice.UID))}, argv...)
	res, err := c.Front.Exec(t.Context(), cluster.Root, args...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// forked adds up the output of forksMany on all nodes.
func forked(t *testing.T, res cluster.Result) (made, refused, killed int) {
	t.Helper()
	for line := range strings.Lines(res.Stdout) {
		var m, r, k int
		if _, err := fmt.Sscan(line, &m, &r, &k); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		made, refused, killed = made+m, refused+r, killed+k
	}
	return made, refused, killed
}

// TestGhostsHaveAControlGroup gives ghosts a control group of their own.
func TestGhostsHaveAControlGroup(t *testing.T) {
	t.Parallel()
	const limit, children = 60, 100
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "ghosts /ghosts\n"})
	wantIdle(t, c)
	run := func(when string) {
		t.Helper()
		res := inGroup(t, c, limit, "bpsh", "0,1", "python3", "-c", forksMany, strconv.Itoa(children))
		if made, refused, killed := forked(t, res); made != 2*children || refused+killed > 0 || res.Code != 0 {
			t.Errorf("%s: %d children were made, %d refused, %d killed; %+v", when, made, refused, killed, res)
		}
	}
	run("first")
	if err := c.KillKeeper(); err != nil {
		t.Fatal(err)
	}
	run("with another keeper")
	// That group has a limit, too.
	ask(t, c.Front, cluster.Root, "sh", "-c", "cd /sys/fs/cgroup; test ! -d pids || cd pids; echo 60 >ghosts/pids.max")
	res := inGroup(t, c, 1000, "bpsh", "0", "python3", "-c", forksMany, strconv.Itoa(children))
	if made, refused, killed := forked(t, res); made >= limit || made < limit/4 || refused == 0 || killed > 0 {
		t.Errorf("%d children were made, %d refused, %d killed: want that the limit of the ghosts' group holds", made, refused, killed)
	}
}

// TestControlGroupBoundsForks has a user whose control group on the front end bounds tasks fork
// more of them on nodes.
func TestControlGroupBoundsForks(t *testing.T) {
	t.Parallel()
	const (
		limit    = 60
		children = 100
	)
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	wantIdle(t, c)
	for _, nodes := range []string{"0", "0,1"} {
		t.Run("nodes "+nodes, func(t *testing.T) {
			res := inGroup(t, c, limit, "bpsh", nodes, "python3", "-c", forksMany, strconv.Itoa(children))
			made, refused, killed := forked(t, res)
			t.Logf("%d children of %d, %d refused, %d killed; %+v", made, limit, refused, killed, res)
			if killed > 0 {
				t.Errorf("%d children were killed", killed)
			}
			if made < limit/4 || made >= limit || refused == 0 || res.Code != 1 {
				t.Errorf("%d children were made, %d refused, exit code %d: want that the limit of %d holds, as natively", made, refused, res.Code, limit)
			}
		})
	}
	if n := count(t, c, "front/log/bpmaster.log", "could not be made"); n > 0 {
		t.Errorf("%d ghosts could not be made", n)
	}
	// The limit is that of the control group, not of the user.
	if made, refused, killed := forked(t, bpsh(t, c, cluster.Alice, "0", "python3", "-c", forksMany, strconv.Itoa(children))); made != children || refused+killed > 0 {
		t.Errorf("outside of the control group: %d children were made, %d refused, %d killed", made, refused, killed)
	}
}

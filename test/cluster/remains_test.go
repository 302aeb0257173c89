package cluster_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// remains has the open resources of a cluster's daemons, and the resources of its machines.
type remains struct {
	counts map[string]int // descriptors and threads of daemons, namespaces of machines
	has    map[string][]string
}

// daemonNames are the names of daemons in /proc.
var daemonNames = []string{"bpmaster", "bpkeeper", "bpslave", "exe"} // the last: init executes itself by /proc/self/exe

func lookAtRemains(t *testing.T, c *cluster.Cluster) remains {
	t.Helper()
	r := remains{map[string]int{}, map[string][]string{}}
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		procs, err := m.Procs()
		if err != nil {
			t.Fatal(err)
		}
		namespaces := map[string]bool{}
		for _, p := range procs {
			dir, err := m.Path(fmt.Sprintf("/proc/%d", p.PID))
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(daemonNames, p.Comm) {
				for _, what := range []string{"fd", "task"} {
					entries, err := os.ReadDir(filepath.Join(dir, what))
					if err != nil {
						t.Fatal(err)
					}
					r.counts[fmt.Sprintf("%s: %s of %s %d", m.Name, what, p.Comm, p.PID)] = len(entries)
				}
			}
			links, _ := filepath.Glob(dir + "/ns/*") // the pattern is valid
			for _, link := range links {
				if ns, err := os.Readlink(link); err == nil {
					namespaces[ns] = true
				}
			}
		}
		r.counts[m.Name+": namespaces"] = len(namespaces)
		for _, thing := range inventory(t, m) {
			if !strings.HasPrefix(thing, "process ") { // stand-ins come and go
				r.has[m.Name] = append(r.has[m.Name], thing)
			}
		}
	}
	return r
}

// slack is how many more descriptors and threads a daemon may have than before: Go's runtime starts
// threads as it needs them, and keeps them.
const slack = 12

// more returns an error if there is more of something than before.
func (r remains) more(before remains) error {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		if now, was := r.counts[what], before.counts[what]; now > was+slack {
			all = append(all, fmt.Sprintf("%s: %d, before %d", what, now, was))
		}
	}
	for name, things := range r.has {
		if !slices.Equal(things, before.has[name]) {
			all = append(all, fmt.Sprintf("%s has %q, before %q", name, things, before.has[name]))
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("%s", strings.Join(all, "\n"))
	}
	return nil
}

// TestThousandCommandsLeaveNothing compares the resources of the daemons and the machines before
// and after many commands.
func TestThousandCommandsLeaveNothing(t *testing.T) {
	const many, few, start = 1000, 10, 24
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	run := func(nodes string, commands, atOnce int, command string) {
		t.Helper()
		var all errgroup.Group
		all.SetLimit(atOnce)
		for i := range commands {
			all.Go(func() error {
				res, err := c.Front.Exec(t.Context(), users[i%2], "bpsh", nodes, "sh", "-c", command+"; exit 3")
				if err == nil && res.Code != 3 {
					err = fmt.Errorf("got %+v", res)
				}
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	const short = "true & wait"
	run("0,1", start, start, "sleep 2") // afterwards daemons have everything that they keep for later commands
	run("0,1", few, few, short)
	before := lookAtRemains(t, c)
	run("0", many, 8, short)
	cluster.Eventually(t, "all is as before", func() error { return lookAtRemains(t, c).more(before) })
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	busy, idler := goroutines(t, c, c.Slaves[0], "n0/log/bpslave.log"), goroutines(t, c, c.Slaves[1], "n1/log/bpslave.log")
	if busy > idler+slack {
		t.Errorf("the slave of node 0 has %d goroutines, that of node 1 %d", busy, idler)
	}
	if n := goroutines(t, c, c.Master, "front/log/bpmaster.log"); n > many/10 {
		t.Errorf("after %d commands the master has %d goroutines", many, n)
	}
}

// goroutines ends a daemon by SIGQUIT, at which Go's runtime writes the stacks of all goroutines,
// and counts them.
func goroutines(t *testing.T, c *cluster.Cluster, d *cluster.Daemon, log string) int {
	t.Helper()
	before, err := c.Log(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Signal(unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := d.AwaitEnd(); err != nil {
		t.Fatal(err)
	}
	after, err := c.Log(log)
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(after[len(before):], "\ngoroutine ")
	t.Logf("%s: %d goroutines", log, n)
	if n == 0 {
		t.Errorf("%s shows no goroutines", log)
	}
	return n
}

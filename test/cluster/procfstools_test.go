package cluster_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// onNodeOf runs a command on the node of a process, and returns its output.
func onNodeOf(t *testing.T, c *cluster.Cluster, s *subject, user cluster.User, argv ...string) string {
	t.Helper()
	res := bpsh(t, c, user, append([]string{strconv.Itoa(s.node)}, argv...)...)
	if res.Code != 0 {
		t.Fatalf("%q on node %d: %+v", argv, s.node, res)
	}
	return res.Stdout
}

// topShows checks that the second screen of top shows the same share of a processor for a spinning
// process as top on the node at the same time: all of one, on an idle machine.
func topShows(t *testing.T, c *cluster.Cluster, s *subject) {
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d +bob .* R +([0-9.]+) .* perl *$`, s.ghost))
	share := func(out string) (float64, error) {
		second := out[strings.LastIndex(out, "top - "):]
		m := line.FindStringSubmatch(second)
		if m == nil {
			return 0, fmt.Errorf("%d is not in\n%s", s.ghost, second)
		}
		return strconv.ParseFloat(m[1], 64)
	}
	top := []string{"top", "-b", "-n2", "-d2", "-w200"}
	cluster.Eventually(t, "top shows a process that spins", func() error {
		var here, there string
		var both errgroup.Group
		both.Go(func() error { here = inView(t, c, cluster.Bob, top...); return nil })
		both.Go(func() error { there = onNodeOf(t, c, s, cluster.Bob, top...); return nil })
		_ = both.Wait() // they do not fail
		got, err := share(here)
		if err != nil {
			return err
		}
		want, err := share(there)
		if err != nil {
			return err
		}
		// The data may be a second old at both ends of two seconds.
		if math.Abs(got-want) > want/2 || want == 0 {
			return fmt.Errorf("got %v %%, on the node %v %%", got, want)
		}
		return nil
	})
}

// lsofShows compares the open files of a process with those on the node.
func lsofShows(t *testing.T, c *cluster.Cluster, s *subject) {
	list := []string{"lsof", "-w", "-n", "-P", "-a", "-d", "cwd,rtd,txt,mem", "-p", strconv.Itoa(s.ghost)}
	got, want := inView(t, c, s.user, list...), onNodeOf(t, c, s, s.user, list...)
	if got != want || !strings.Contains(want, "/usr/bin/sleep") {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// attributes prints everything that psutil knows of processes. The kernel rounds the times of a process and those of
// its only thread by themselves (cputime_adjust of kernel/sched/cputime.c); the view has the former for both.
const attributes = `
import json, psutil, sys

def rounded(d):
    only, process = d["threads"][0], d["cpu_times"]
    return abs(only.user_time - process.user) < 0.015 and abs(only.system_time - process.system) < 0.015

all = {}
for p in psutil.process_iter():
    try:
        d = p.as_dict()
    except psutil.NoSuchProcess:
        continue
    if str(p.pid) in sys.argv[1:]:
        if len(d["threads"] or []) == 1 and rounded(d):
            d["threads"] = [d["threads"][0].id]
        all[p.pid] = {k: repr(v) for k, v in d.items()}
json.dump(all, sys.stdout)
`

// known has psutil's attributes of processes, by number and name.
type known map[string]map[string]string

func attributesOf(text string) (known, error) {
	var all known
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return all, nil
}

// psutilShows compares everything that psutil knows of processes here and on their nodes.
func psutilShows(t *testing.T, c *cluster.Cluster, subjects map[string]*subject) {
	list := []string{"python3", "-c", attributes}
	for _, s := range subjects {
		if s.state != "R" { // a running process is never the same twice
			list = append(list, strconv.Itoa(s.ghost))
		}
	}
	cluster.Eventually(t, "psutil knows the same here", func() error {
		got, err := attributesOf(inView(t, c, cluster.Root, list...))
		if err != nil {
			return err
		}
		want := known{}
		for node := range 3 {
			there, err := attributesOf(bpsh(t, c, cluster.Root, append([]string{strconv.Itoa(node)}, list...)...).Stdout)
			if err != nil {
				return err
			}
			maps.Copy(want, there)
		}
		if len(got) != len(list)-3 || len(want) != len(got) {
			return fmt.Errorf("got %d, on the nodes %d, want %d processes", len(got), len(want), len(list)-3)
		}
		for pid := range want {
			if err := sameAttributes(got[pid], want[pid]); err != nil {
				return fmt.Errorf("%s: %w", pid, err)
			}
		}
		return nil
	})
}

func sameAttributes(got, want map[string]string) error {
	for _, of := range []map[string]string{got, want} {
		// The parent is the front end's; shared memory is never the same twice.
		for _, name := range []string{"ppid", "memory_full_info", "memory_maps"} {
			if of[name] == "" || of[name] == "None" {
				return fmt.Errorf("no %s in %v", name, of)
			}
			delete(of, name)
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("got\n%v\nwant\n%v", got, want)
	}
	return nil
}

// machine prints what psutil knows of a machine, except what changes all the time.
const machine = `
import json, psutil, sys
if len(sys.argv) > 1: psutil.PROCFS_PATH = sys.argv[1]
json.dump([psutil.cpu_count(), psutil.boot_time(), psutil.virtual_memory().total, psutil.swap_memory().total,
    len(psutil.cpu_times(percpu=True)), psutil.cpu_stats().interrupts > 0,
    sorted(psutil.net_io_counters(pernic=True)), sorted(psutil.disk_io_counters(perdisk=True))], sys.stdout)
`

// nodeIsShown runs a program with a configurable path of procfs for each node.
func nodeIsShown(t *testing.T, c *cluster.Cluster) {
	for node := range 3 {
		path := fmt.Sprintf("/proc/bproc/nodes/%d", node)
		var got, want any
		for text, about := range map[string]*any{
			inView(t, c, cluster.Bob, "python3", "-c", machine, path):                          &got,
			bpsh(t, c, cluster.Bob, strconv.Itoa(node), "python3", "-c", machine).Stdout + " ": &want,
		} {
			if err := json.Unmarshal([]byte(text), about); err != nil {
				t.Fatalf("node %d: %q: %v", node, text, err)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("node %d: got %v, want %v", node, got, want)
		}
		res := bpsh(t, c, cluster.Bob, strconv.Itoa(node), "ls", "/proc/net/")
		if got := inView(t, c, cluster.Bob, "ls", path+"/net/"); got != res.Stdout || !strings.Contains(got, "tcp\n") {
			t.Errorf("net of node %d: got %q, want %q", node, got, res.Stdout)
		}
	}
}

// frontEndIsShown checks that the front end itself is shown as without a view.
func frontEndIsShown(t *testing.T, c *cluster.Cluster) {
	for _, command := range []string{
		"uptime -s", "free -b | awk '/^Mem:/ { print $2 }'", "vmstat -s | grep 'total memory'", "vmstat | head -2", "nproc",
		"pidof bpmaster", "pgrep -o bpkeeper", "ps -o pid,ppid,user,stat,lstart,args -C bpmaster", "ps -o pid,args -p 1",
		"ls /proc/sys", "cat /proc/sys/kernel/random/boot_id", "pstree -p $(pidof bpmaster) | head -1",
	} {
		want := ask(t, c.Front, cluster.Root, "sh", "-c", command)
		if got := strings.TrimSpace(inView(t, c, cluster.Root, "sh", "-c", command)); got != want || got == "" {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// looks prints for each file of a process whether it can be read, and the content of those that do
// not change.
const looks = `
cd /proc/$1
show() { echo "$1: $(cat $1 2>/dev/null | tr '\0\n' '|~')"; }
for f in auxv cgroup cmdline comm cpuset cwd environ exe fd/0 fdinfo/0 io limits maps mountinfo mounts net/dev ns/mnt \
	numa_maps oom_score oom_score_adj personality root sched schedstat smaps smaps_rollup stack stat statm status \
	syscall uid_map wchan task/$1/environ task/$1/maps task/$1/stack task/$1/status task/$1/wchan; do
	if cat $f >/dev/null 2>&1 || readlink $f >/dev/null; then echo $f; else echo no $f; fi
done
for d in fd fdinfo ns task net; do ls $d >/dev/null 2>&1 && echo $d || echo no $d; done
for f in auxv cgroup cmdline comm cpuset environ limits maps oom_score_adj personality uid_map wchan fdinfo/0; do show $f; done
for l in cwd exe root fd/0 ns/mnt; do echo "$l: $(readlink $l)"; done
ls -ld . exe fd status | cut -d' ' -f1,3,4
echo "fd: $(ls fd 2>/dev/null)"
`

// ownersLookInside checks that each user sees the same as on the node: the private files of a
// process are for its owner.
func ownersLookInside(t *testing.T, c *cluster.Cluster, s *subject) {
	pid := strconv.Itoa(s.ghost)
	for _, user := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		argv := []string{"sh", "-c", looks, "sh", pid}
		text := inView(t, c, user, argv...)
		// A view does not wait for more than two seconds for a file, which is little for a slow machine.
		for tries := 1; limit.Slow() && tries < 5 && text != onNodeOf(t, c, s, user, argv...); tries++ {
			text = inView(t, c, user, argv...)
		}
		got := strings.Split(text, "\n")
		want := strings.Split(onNodeOf(t, c, s, user, argv...), "\n")
		if len(got) != len(want) {
			t.Errorf("%s: got %q, want %q", user.Name, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %q, want %q", user.Name, got[i], want[i])
			}
		}
	}
	if got := inView(t, c, cluster.Alice, "sh", "-c", "id -u; grep CapEff /proc/self/status"); got != "12345\nCapEff:\t0000000000000000\n" {
		t.Errorf("who a command of bpns is: got %q", got)
	}
}

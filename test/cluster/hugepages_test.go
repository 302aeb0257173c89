package cluster_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bproc/slave/pid1/standin"
	"bproc/test/cluster"
)

// TestHeapsHaveNoHugePages checks that the heaps of the daemons stay small where the kernel makes huge
// pages of whatever it can: they are marked "nh" (proc_pid_smaps(5), VmFlags).
func TestHeapsHaveNoHugePages(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 1)
	for name, m := range map[string]*cluster.Machine{
		"bpmaster": c.Front, "bpkeeper": c.Front, "bpslave": c.Nodes[0], standin.InitName: c.Nodes[0],
	} {
		procs, err := m.Named(name)
		if err != nil || len(procs) == 0 {
			t.Errorf("%s: %d processes, %v", name, len(procs), err)
		}
		for _, p := range procs {
			smaps, err := m.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.PID))
			if err != nil {
				t.Fatal(err)
			}
			if heap := heapOf(string(smaps)); !slices.Contains(heap, "nh") {
				t.Errorf("the heap of %s may have huge pages: %v", name, heap)
			}
		}
	}
}

// heapOf returns the flags of the private mapping of no file that has the most dirty pages. Under the race detector, whose own
// memory is more, the heap begins at 0xc000000000.
func heapOf(smaps string) (flags []string) {
	private, dirty, most := false, 0, -1
	for line := range strings.Lines(smaps) {
		switch f := strings.Fields(line); {
		case !strings.HasSuffix(f[0], ":"): // FROM-TO MODE OFFSET DEVICE INODE NAME
			private = f[1] == "rw-p" && f[4] == "0" && (!cluster.Race || strings.HasPrefix(f[0], "c0"))
		case f[0] == "Private_Dirty:":
			dirty, _ = strconv.Atoi(f[1])
		case f[0] == "VmFlags:" && private && dirty > most:
			most, flags = dirty, f[1:]
		}
	}
	return flags
}

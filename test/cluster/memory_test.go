package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bproc/slave/pid1/standin"
	"bproc/test/cluster"
)

// footprint is the memory of daemons in KiB, by name, without that of their programs.
type footprint map[string]int

// remembering are the daemons whose memory is watched, by their names in /proc.
var remembering = []string{"bpmaster", "bpkeeper", "bpprocfs", "bpslave", standin.InitName}

// footprintOf reads the memory of all daemons of the front end and of a node.
func footprintOf(c *cluster.Cluster, node int) (footprint, error) {
	f := footprint{}
	for _, m := range []*cluster.Machine{c.Front, c.Nodes[node]} {
		for _, name := range remembering {
			procs, err := m.Named(name)
			if err != nil {
				return nil, err
			}
			for _, p := range procs {
				kib, err := memoryOf(m, p.PID)
				if err != nil {
					return nil, err
				}
				f[m.Name+" "+name] += kib
			}
		}
	}
	return f, nil
}

// own are the parts of smaps_rollup (proc_pid_smaps(5)) that a process has for itself. Pages of its program are not
// among them: other clusters share them, and when one of those ends, each that is left has a larger part.
var own = regexp.MustCompile(`(?m)^Pss_(?:Anon|Shmem): +(\d+) kB$`)

// memoryOf returns the memory of a process, in KiB.
func memoryOf(m *cluster.Machine, pid int) (kib int, err error) {
	text, err := m.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	parts := own.FindAllSubmatch([]byte(text), -1)
	if len(parts) != 2 {
		return 0, fmt.Errorf("memory of %d: %q", pid, text)
	}
	for _, part := range parts {
		n, err := strconv.Atoi(string(part[1]))
		if err != nil {
			return 0, err
		}
		kib += n
	}
	return kib, nil
}

// garbage is how much memory of a Go program without much to do is garbage, at most, in KiB: there is
// no collection before the heap has 4 MiB (package runtime/debug, GOGC). When it was measured before,
// there may have been none.
const garbage = 4 << 10

// grown returns an error if daemons have over 20 % more memory than before, or as much more as
// garbage takes if that is more, or under the race detector four times as much.
func (before footprint) grown(c *cluster.Cluster, node int) error {
	now, err := footprintOf(c, node)
	if err != nil {
		return err
	}
	for name, kib := range before {
		room := max(kib/5, garbage)
		if cluster.Race { // the detector keeps memory of its own for each address that was ever used
			room = 3 * kib
		}
		if now[name] > kib+room {
			return fmt.Errorf("%s has %d KiB of memory, had %d; now all have %s", name, now[name], kib, partsOf(c, node))
		}
	}
	return nil
}

// partsOf says what the memory of the daemons consists of, and how many descriptors and threads they have.
func partsOf(c *cluster.Cluster, node int) string {
	var parts []string
	for _, m := range []*cluster.Machine{c.Front, c.Nodes[node]} {
		for _, name := range remembering {
			procs, err := m.Named(name)
			if err != nil {
				return err.Error()
			}
			for _, p := range procs {
				parts = append(parts, m.Name+" "+name+partsOfProcess(m, p.PID))
			}
		}
	}
	return strings.Join(parts, "; ")
}

func partsOfProcess(m *cluster.Machine, pid int) (parts string) {
	dir, err := m.Path(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return ": " + err.Error()
	}
	text, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return ": " + err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Pss_") || strings.HasPrefix(line, "AnonHuge") {
			parts += " " + strings.Join(strings.Fields(line), "")
		}
	}
	for _, table := range []string{"fd", "task"} {
		all, err := os.ReadDir(filepath.Join(dir, table))
		if err != nil {
			return ": " + err.Error()
		}
		parts += fmt.Sprintf(" %s:%d", table, len(all))
	}
	return parts
}

// workIn makes a cluster grow to its normal size by hundreds of commands, many at a time, with
// output, and with looks at some of them.
func workIn(t *testing.T, c *cluster.Cluster, node int) {
	t.Helper()
	const script = `run() { bpsh $1 sh -c "head -c 20000 /dev/zero; sleep $2" >/dev/null & }
n=0; while [ $((n += 1)) -le 400 ]; do run $0 0; [ $((n % 30)) = 0 ] && wait; done
n=0; while [ $((n += 1)) -le 50 ]; do run $0 2; done
n=0; while [ $((n += 1)) -le 5 ]; do bpns sh -c 'ps -ef; cat /proc/[0-9]*/maps' >/dev/null 2>&1; done; wait`
	ask(t, c.Front, cluster.Alice, "sh", "-c", script, strconv.Itoa(node))
	cluster.Eventually(t, "all have ended", func() error { return idle1(c.Front, c.Nodes[node]) })
}

package cluster_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// inTime is the time of a listing in which the nodes' answers have certainly been used: a reader
// waits for them for half a second.
const inTime = 400 * time.Millisecond

// TestYoungProcessesAreSeen reads processes right after their birth, by name and in a listing, just
// after another reader: they are shown, not their ghosts.
func TestYoungProcessesAreSeen(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 3)
	wantIdle(t, c)
	startView(t, c)
	sh := newDialogue(t, c, cluster.Alice, "bpsh", "1", "sh")
	looker := newDialogue(t, c, cluster.Alice, "bpns", "sh")
	var young []string
	defer func() {
		ask(t, c.Front, cluster.Root, append([]string{"kill", "-KILL"}, young...)...)
		sh.ask("wait; echo done")
	}()
	for _, l := range []struct{ look, of, shows string }{
		{"looked up", "grep BProcNode /proc/PID/status || echo ghost", "^BProcNode:\t1$"},
		{"listed", "echo $(ps -e -o pid=,cgroup:500= | grep -w PID)", "^PID .*/bproc/slave"}, // in any state
	} {
		seen := 0
		for deadline := time.Now().Add(time.Minute); seen < 10; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d looks of 10 were not slow", l.look, seen)
			}
			looker.ask("ps -e >/dev/null; echo looked")
			pid := sh.ask("sleep 1000 & echo $!")
			young = append(young, pid)
			number := strings.NewReplacer("PID", pid)
			begin := time.Now()
			got := looker.ask(number.Replace(l.of))
			slow := time.Since(begin) > inTime
			if want := number.Replace(l.shows); regexp.MustCompile(want).MatchString(got) {
				seen++
			} else if !slow {
				t.Fatalf("%s, which is %s: got %q, want a match of %s", pid, l.look, got, want)
			}
		}
	}
}

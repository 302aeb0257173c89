package cluster_test

import (
	"regexp"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestYoungProcessesAreSeen looks at processes right after their birth, by name and in a
// listing, when somebody has looked right before it: they are shown, not their ghosts.
func TestYoungProcessesAreSeen(t *testing.T) {
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
	for range 10 {
		looker.ask("ps -e >/dev/null; echo looked")
		pid := sh.ask("sleep 1000 & echo $!")
		young = append(young, pid)
		if got := looker.ask("grep BProcNode /proc/" + pid + "/status || echo ghost"); got != "BProcNode:\t1" {
			t.Errorf("%s, which is looked up: got %q", pid, got)
		}
		looker.ask("ps -e >/dev/null; echo looked")
		pid = sh.ask("sleep 1000 & echo $!")
		young = append(young, pid)
		rss := looker.ask("echo $(ps -e -o pid=,rss= | grep -w " + pid + ")")
		if !regexp.MustCompile(`^` + pid + ` [0-9]{3,}$`).MatchString(strings.TrimSpace(rss)) {
			t.Errorf("%s, which is listed: got %q, want hundreds of KiB resident, where a ghost has 12", pid, rss)
		}
	}
}

package cluster_test

import (
	"strconv"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestRootWithoutKill has root of a node without CAP_KILL signal a process of another user on the
// front end: that is refused there, too, whatever its ghost is.
func TestRootWithoutKill(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	victim := c.Front.Command(t.Context(), cluster.Alice, "sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = victim.Process.Kill(), victim.Wait() }()
	pid, err := victim.PID()
	if err != nil {
		t.Fatal(err)
	}
	to := strconv.Itoa(pid)
	for start, want := range map[string]string{
		"env": "0",
		"setpriv --bounding-set -kill --inh-caps -kill": "1",
	} {
		script := []string{"bpsh", "2"}
		script = append(script, strings.Fields(start)...)
		script = append(script, "sh", "-c", "kill -0 "+to+" 2>/dev/null; echo $?")
		if got := strings.TrimSpace(ask(t, c.Front, cluster.Root, script...)); got != want {
			t.Errorf("%s: kill exits with %s, want %s", start, got, want)
		}
	}
}

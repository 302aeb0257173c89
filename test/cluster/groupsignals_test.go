package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestGroupSignalReachesYoung has processes of the front end send signals to groups by kill(2), in
// which a process has just been born on a node: it has no ghost yet, and gets the signal all the same.
// Its parent's own signal does not reach it.
func TestGroupSignalReachesYoung(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	const rounds = 20
	const each = `set -m
for i in $(seq %d); do
	rm -f %[2]s/ready
	bpsh 0 sh -c 'sleep %[4]d </dev/null >/dev/null 2>&1 & : >%[2]s/ready; wait' &
	until [ -e %[2]s/ready ]; do sleep 0.001; done
	%[3]s
	wait $!
	echo $?
done
for i in $(seq 100); do # the last signals may be on their way
	sleeps=$(bpsh 0 pgrep -cfx 'sleep %[4]d')
	[ "$sleeps" = %[5]d ] && break
	sleep 0.1
done
echo sleeps $sleeps
bpsh 0 pkill -fx 'sleep %[4]d'`
	for i, test := range []struct {
		name, kill string
		sleeps     int
	}{
		{"the group", "kill -TERM -- -$!", 0},
		{"the parent", "kill -TERM $(pgrep -P $!)", rounds},
	} {
		res, err := c.Front.Exec(t.Context(), cluster.Root, "bash", "-c", fmt.Sprintf(each, rounds, t.TempDir(), test.kill, 47110815+i, test.sleeps))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(res.Stdout), "\n")
		if want := fmt.Sprintf("sleeps %d", test.sleeps); len(lines) != rounds+1 || lines[rounds] != want {
			t.Errorf("%s: got %q (%s), want a status for each round and %s", test.name, lines, res.Stderr, want)
		}
	}
}

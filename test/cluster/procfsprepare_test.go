package cluster_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// viewLog is the log of a view of [startToldView].
const viewLog = "/run/bproc/view.log"

// startToldView is startView with a log.
func startToldView(t *testing.T, c *cluster.Cluster) *cluster.Daemon {
	t.Helper()
	var d *cluster.Daemon
	t.Cleanup(func() {
		endView(t, c, d)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endTime)
		defer cancel()
		if res, err := c.Front.Exec(ctx, cluster.Root, "rm", "-f", viewLog); err != nil || res.Code != 0 {
			t.Errorf("rm: %+v, %v", res, err)
		}
	})
	var err error
	if d, err = c.Front.StartDaemon(t.Context(), true, "sh", "-c", "exec bpprocfs --keep --log-level debug "+viewDir+" 2>"+viewLog); err != nil {
		t.Fatal(err)
	}
	return d
}

// counted returns the sum of the counts in the log lines of a view with a text, and the number of
// these lines.
func counted(t *testing.T, c *cluster.Cluster, text string) (sum, lines int) {
	t.Helper()
	log, err := c.Front.ReadFile(viewLog)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`msg="`+text+`" count=(\d+)`).FindAllStringSubmatch(string(log), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum, lines = sum+n, lines+1
	}
	return sum, lines
}

// The log messages about processes that were prepared before any program read them, and about those
// that the warmer read.
const (
	wasPrepared = "processes are prepared"
	wasWarmed   = "processes are known to the kernel"
)

// preparedTime is how long a view may take to prepare some processes: it rests for a minute at most
// if it has just prepared others.
var preparedTime = limit.Scaled(3 * time.Minute)

// TestFirstLookIsPrepared has processes born without readers. The first ps then causes hardly any
// requests to the view.
func TestFirstLookIsPrepared(t *testing.T) {
	t.Parallel()
	const nodes, each = 3, 100
	c := cluster.Shared(t, nodes)
	wantIdle(t, c)
	view := startToldView(t, c)
	inView(t, c, cluster.Root, "ps", "aux") // the processes of the front end itself are known then
	awaitLog(t, c, "the view has done what it does at its start", func() bool {
		_, rounds := counted(t, c, wasPrepared)
		return rounds > 0
	})
	before, _ := counted(t, c, wasPrepared)
	for node := range nodes {
		// They end with their parent (PR_SET_PDEATHSIG of prctl(2)), and do nothing more when it is
		// ready: a change after the preparation would make them unknown again.
		startRemote(t, c, cluster.Alice, node, "perl", "-e", fmt.Sprintf(
			`$| = 1; pipe R, W; for (1 .. %d) { if (!fork) { syscall(157, 1, 9); close W; sleep 1000; exit } } close W; <R>; print "ready\n"; sleep 1000`, each))
	}
	awaitLog(t, c, "the view has looked into the processes", func() bool {
		sum, _ := counted(t, c, wasPrepared)
		return sum-before >= nodes*each
	})
	_, warmed := counted(t, c, wasWarmed)
	asked := viewRequests(t, c, view)
	shown := inView(t, c, cluster.Root, "ps", "aux")
	asked = viewRequests(t, c, view) - asked
	if got := strings.Count(shown, "perl -e"); got < nodes*each {
		t.Errorf("ps shows %d processes, want %d", got, nodes*each)
	}
	if _, now := counted(t, c, wasWarmed); now != warmed {
		t.Error("the processes had to be made known to the kernel when they were looked at")
	}
	// Five for each process without preparation; names are asked for again if ps is slow.
	if most := 3 * nodes * each; asked > most {
		t.Errorf("the view was asked %d times, want at most %d", asked, most)
	}
	t.Logf("the view was asked %d times", asked)
}

// awaitLog waits until the log of the view meets a condition.
func awaitLog(t *testing.T, c *cluster.Cluster, what string, said func() bool) {
	t.Helper()
	for deadline := time.Now().Add(preparedTime); !said(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			log, _ := c.Front.ReadFile(viewLog)
			t.Fatalf("not after %v: %s; its log:\n%s", preparedTime, what, log)
		}
	}
}

// viewRequests returns how often a view has read so far: once for each request.
func viewRequests(t *testing.T, c *cluster.Cluster, view *cluster.Daemon) int {
	t.Helper()
	pid, err := view.PID()
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Front.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	var reads int
	_, rest, _ := strings.Cut(string(text), "syscr: ")
	if _, err := fmt.Sscan(rest, &reads); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return reads
}

package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestOutsideOfSpace has processes of a node look for and signal the node's processes outside of
// the process space: they see none, and none gets a signal.
func TestOutsideOfSpace(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			guard := startGuard(t, c.Nodes[1], user)
			seen := bpsh(t, c, user, "1", "sh", "-c", "cat /proc/[0-9]*/comm")
			names := strings.Fields(seen.Stdout)
			if !slices.Contains(names, "sh") || slices.Contains(names, "target") || slices.Contains(names, "bpslave") {
				t.Errorf("seen are %q", names)
			}
			argv := []string{"bpsh", "1", conform(t, "outside"), "everybody=all"}
			for pid := guard.pid - 2; pid <= guard.pid+2; pid++ {
				argv = append(argv, fmt.Sprintf("number=%d", pid), fmt.Sprintf("group=-%d", pid))
			}
			// As an ordinary user: root may signal processes with these numbers on the front end.
			if _, err := c.Front.Exec(t.Context(), cluster.Alice, argv...); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Front.Exec(t.Context(), user, "bpsh", "1", conform(t, "outside"), "everybody=all"); err != nil {
				t.Fatal(err)
			}
			if got := guard.log(); len(got) > 0 {
				t.Errorf("outside of the space came %q", got)
			}
		})
	}
}

// guard is a process of a node outside of the process space that prints the signals that it gets.
type guard struct {
	*target
	node *cluster.Machine
}

func startGuard(t *testing.T, node *cluster.Machine, user cluster.User) guard {
	t.Helper()
	cmd := node.Command(t.Context(), user, conform(t, "target"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	g := guard{&target{t: t, cmd: cmd, lines: make(chan string, 100)}, node}
	go readLines(out, g.lines)
	line := g.line()
	if !readyLine.MatchString(line) {
		t.Fatalf("got %q, want ready", line)
	}
	if g.pid, err = cmd.PID(); err != nil {
		t.Fatal(err)
	}
	return g
}

// log ends the guard and returns the signals that it has got.
func (g guard) log() []string {
	g.t.Helper()
	if err := g.node.Kill(g.pid, unix.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	var got []string
	for line := g.line(); line != ""; line = g.line() {
		got = append(got, line)
	}
	slices.Sort(got)
	return got
}

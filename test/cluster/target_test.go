package cluster_test

import (
	"bufio"
	"io"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// target is a process to which others send signals, and which prints those that it gets.
type target struct {
	t     *testing.T
	c     *cluster.Cluster
	pid   int
	cmd   *cluster.Cmd
	lines chan string
}

// readyLine is the first line of each target.
var readyLine = regexp.MustCompile(`^ready \{(\d+)\}$`)

// startTargets starts a command that runs n targets.
func startTargets(t *testing.T, c *cluster.Cluster, user cluster.User, n int, argv ...string) []*target {
	t.Helper()
	cmd := c.Front.Command(t.Context(), user, argv...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go readLines(out, lines)
	var all []*target
	for range n {
		one := &target{t: t, c: c, cmd: cmd, lines: lines}
		line := one.line()
		match := readyLine.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("%v: got %q, want ready", argv, line)
		}
		one.pid, _ = strconv.Atoi(match[1])
		all = append(all, one)
	}
	t.Cleanup(func() {
		for _, one := range all {
			_ = c.Front.Kill(one.pid, unix.SIGKILL) // it has ended, unless the test failed
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return all
}

func readLines(r io.Reader, lines chan<- string) {
	defer close(lines)
	for scan := bufio.NewScanner(r); scan.Scan(); {
		lines <- scan.Text()
	}
}

// line returns the next line; "" at the end.
func (g *target) line() string {
	g.t.Helper()
	select {
	case line := <-g.lines:
		return line
	case <-time.After(lineTimeout):
		g.t.Fatal("a target says nothing")
		return ""
	}
}

// log ends a target and returns the signals that it has got, sorted: of several pending signals,
// the kernel delivers the lowest number first.
func (g *target) log() []string {
	g.t.Helper()
	if err := g.c.Front.Kill(g.pid, unix.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	var got []string
	for line := g.line(); line != ""; line = g.line() {
		got = append(got, line)
	}
	awaitEnd(g.t, g.cmd)
	slices.Sort(got)
	return got
}

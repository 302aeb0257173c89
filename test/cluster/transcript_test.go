package cluster_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// place is where a program of the conformance suite runs: in both places it is the child of a
// command of the front end, in whose group and session it is.
type place struct {
	name string
	argv []string
}

var (
	// native is the front end: the shell takes the place of bpsh.
	native = place{"native", []string{"sh", "-c", `"$@"; exit $?`, "sh"}}
	onNode = place{"node", []string{"bpsh", "1"}}
)

// at returns the command line of a command on a node, or of its native counterpart.
func (p place) at(node string, argv ...string) []string {
	if p.name == native.name || node == "" {
		return slices.Concat(native.argv, argv)
	}
	return slices.Concat([]string{"bpsh", node}, argv)
}

// quietTimeout is how long a program may take between two lines, unless it is known to take longer.
var quietTimeout = limit.Scaled(5 * time.Minute)

// conversation is a running program of the suite.
type conversation struct {
	t      *testing.T
	c      *cluster.Cluster
	cmd    *cluster.Cmd
	stdin  io.WriteCloser
	stdout io.Closer
	stderr bytes.Buffer
	lines  chan string
	claims claims
	dir    string // of the program
	// patience is how long the program may take between two lines.
	patience time.Duration
	// also is checked with the claims.
	also func(claims) error
	// notes describe how the claims came about, for errors.
	notes []string
}

// converse starts a program at a place.
func converse(t *testing.T, c *cluster.Cluster, user cluster.User, at place, argv ...string) *conversation {
	t.Helper()
	v := &conversation{t: t, c: c, lines: make(chan string, 1000), claims: claims{}, dir: filepath.Dir(argv[0]), patience: quietTimeout}
	v.cmd = c.Front.Command(t.Context(), user, slices.Concat(at.argv, argv)...)
	v.cmd.Stderr = &v.stderr
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v.stdout = out
	if v.stdin, err = v.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.cleanUp)
	go func() {
		defer close(v.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			v.lines <- scan.Text()
		}
	}()
	return v
}

// line returns the next line that is not for the test itself; false at the end.
func (v *conversation) line() (string, bool) {
	v.t.Helper()
	timeout := time.NewTimer(v.patience)
	defer timeout.Stop()
	for {
		select {
		case line, ok := <-v.lines:
			if note, is := strings.CutPrefix(line, "@note "); is {
				v.notes = append(v.notes, note)
				continue
			}
			switch mine, err := v.claims.add(line); {
			case err != nil:
				v.t.Fatal(err)
			case line == "@quiet":
				v.verify()
			case !mine:
				return line, ok
			}
		case <-timeout.C:
			v.t.Fatalf("the program says nothing for %v", v.patience)
		}
	}
}

// verify waits until all claims are true, and lets the program go on.
func (v *conversation) verify() {
	v.t.Helper()
	cluster.Eventually(v.t, "the front end shows what is claimed", func() error {
		err := v.claims.check(v.c.Front)
		if err == nil && v.also != nil {
			err = v.also(v.claims)
		}
		if err != nil && len(v.notes) > 0 {
			err = fmt.Errorf("%w\n%s", err, strings.Join(v.notes, "\n"))
		}
		return err
	})
	clear(v.claims)
	v.notes = nil
	if _, err := io.WriteString(v.stdin, "\n"); err != nil {
		v.t.Fatal(err)
	}
}

// rest returns all further lines and, as a last one, the end of the program.
func (v *conversation) rest() []string {
	v.t.Helper()
	var lines []string
	for {
		line, ok := v.line()
		if !ok {
			break
		}
		lines = append(lines, line)
	}
	awaitEnd(v.t, v.cmd) // the code has the status
	if v.stderr.Len() > 0 {
		lines = append(lines, fmt.Sprintf("standard error %q", &v.stderr))
	}
	return append(lines, fmt.Sprintf("exit code %d", v.cmd.ProcessState.ExitCode()))
}

// cleanUp ends what a failed test has left.
func (v *conversation) cleanUp() {
	if v.cmd.ProcessState != nil {
		return
	}
	pid, _ := v.cmd.PID()
	all, _ := v.c.Front.Procs()
	for _, p := range all {
		ours := p.SID == pid || strings.HasPrefix(p.Exe, v.dir) || strings.HasSuffix(p.Exe, "/lib/bproc/ghost")
		if ours && p.PID != pid && !strings.HasPrefix(p.Comm, "bpkeeper") {
			_ = v.c.Front.Kill(p.PID, unix.SIGKILL)
		}
	}
	_ = v.cmd.Process.Kill()
	v.stdout.Close()
	_ = v.cmd.Wait()
}

// number matches a process number in a transcript.
var number = regexp.MustCompile(`\{-?\d+\}`)

// named replaces the numbers of a transcript by names, in the order of their appearance. 0 and 1
// are the same everywhere.
func named(lines []string) []string {
	names := map[string]string{}
	var result []string
	for _, line := range lines {
		result = append(result, number.ReplaceAllStringFunc(line, func(n string) string {
			n = strings.Trim(n, "{}")
			sign := ""
			if rest, negative := strings.CutPrefix(n, "-"); negative {
				n, sign = rest, "-"
			}
			if n == "0" || n == "1" {
				return sign + n
			}
			if names[n] == "" {
				names[n] = "p" + strconv.Itoa(len(names)+1)
			}
			return sign + names[n]
		}))
	}
	return result
}

// noneWrong checks that a program has reported no error itself.
func noneWrong(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		if strings.Contains(line, "WRONG") {
			t.Error(line)
		}
	}
}

// sameTranscript compares the native output of a program with that on a node.
func sameTranscript(t *testing.T, native, node []string) {
	t.Helper()
	text := func(lines []string) []byte { return []byte(strings.Join(named(lines), "\n") + "\n") }
	if changes := diff.Diff("natively", text(native), "on the node", text(node)); changes != nil {
		t.Errorf("the transcripts differ:\n%s", changes)
	}
}

// under returns the same place in a command that runs another one.
func (p place) under(argv ...string) place {
	return place{p.name, slices.Concat(argv, p.argv)}
}

// bothPlaces takes a transcript natively and on a node and compares them.
func bothPlaces(t *testing.T, c *cluster.Cluster, transcript func(t *testing.T, at place) []string) {
	t.Helper()
	var want []string
	t.Run(native.name, func(t *testing.T) {
		want = transcript(t, native)
		noneWrong(t, want)
	})
	t.Run(onNode.name, func(t *testing.T) {
		wantIdle(t, c)
		got := transcript(t, onNode)
		noneWrong(t, got)
		sameTranscript(t, want, got)
	})
}

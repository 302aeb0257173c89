package bpsh_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// says handles Run with exit code 0 and the given outputs of each node.
func says(t *testing.T, stdout map[wire.NodeID]string, stderr map[wire.NodeID]string) fakemaster.Handler {
	return onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		for _, o := range []struct {
			to   wire.Type
			text string
		}{{out, stdout[r.Node]}, {bad, stderr[r.Node]}} {
			for piece := range slices.Chunk([]byte(o.text), 50_000) {
				if err := c.Output(o.to, string(piece)); err != nil {
					t.Error(err)
				}
			}
		}
		c.End(0)
	})
}

func TestGroup(t *testing.T) {
	line := "\t" + strings.Repeat("-", 69) + "\n"
	long := strings.Repeat("long\n", 100_000) // long enough for a file
	tests := []struct {
		name   string
		nodes  string
		stdout map[wire.NodeID]string
		want   string
	}{
		{"all the same", "0-1,5", map[wire.NodeID]string{0: "a\n", 1: "a\n", 5: "a\n"}, "0-1,5" + line + "a\n"},
		{"in order of the first", "5,1,0", map[wire.NodeID]string{0: "b\n", 1: "a\n", 5: "b\n"}, "0,5" + line + "b\n1" + line + "a\n"},
		{"nothing is left out", "0,1", map[wire.NodeID]string{1: "a\n"}, "1" + line + "a\n"},
		{"no newline", "0,1", map[wire.NodeID]string{0: "a", 1: "b"}, "0" + line + "a\n1" + line + "b\n"},
		{"a part of the other", "0,1", map[wire.NodeID]string{0: "a\n", 1: "a\na\n"}, "0" + line + "a\n1" + line + "a\na\n"},
		{"long", "0,1,5", map[wire.NodeID]string{0: long, 1: long + "x", 5: long}, "0,5" + line + long + "1" + line + long + "x\n"},
		{"a node twice", "1,1", map[wire.NodeID]string{1: "a\n"}, "1" + line + "a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := fakemaster.Start(t, says(t, tt.stdout, map[wire.NodeID]string{1: "bad\n"}))
			got := run(t, m.Client, strings.NewReader(""), "-g", tt.nodes, "cmd")
			if got.stdout != tt.want || got.code != 0 {
				t.Errorf("got %d and %.200q, want 0 and %.200q", got.code, got.stdout, tt.want)
			}
			if n := strings.Count(tt.nodes, "1"); got.stderr != strings.Repeat("  1: bad\n", max(n, 1)) {
				t.Errorf("got standard error %q", got.stderr)
			}
		})
	}
}

// line is a line of output with --json.
type line struct {
	Node, Rank, PID int
	Exit            *int
	Signal          string
	TimedOut        bool `json:"timed_out"`
	Error           string
	Seconds         float64
	User            float64 `json:"user_seconds"`
	System          float64 `json:"system_seconds"`
	MaxRSS          uint64  `json:"max_rss_kib"`
	Stdout, Stderr  string
	Base64          bool
}

func lines(t *testing.T, text string) []line {
	t.Helper()
	var all []line
	for s := range strings.Lines(text) {
		var l line
		d := json.NewDecoder(strings.NewReader(s))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if l.Seconds <= 0 || l.Seconds > 60 {
			t.Errorf("%q: %v seconds", s, l.Seconds)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b line) int { return a.Rank - b.Rank })
	return all
}

func TestJSON(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		switch r.Node {
		case 0:
			c.Started()
			_ = c.Output(out, "text\n")
			_ = c.Output(bad, "<&>\n")
			c.End(wire.ExitStatus(3))
		case 1:
			c.Started()
			_ = c.Output(out, "\xff")
			c.End(0)
		case killed:
			c.Started()
			c.End(wire.SignalStatus(9))
		case 40:
			c.Started()
			c.End(wire.SignalStatus(40))
		default:
			c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
		}
	}))
	got := run(t, m.Client, strings.NewReader(""), "--json", fmt.Sprintf("0,1,%d,30,40", killed), "cmd")
	if got.code != 255 || got.stderr != "" {
		t.Errorf("got exit code %d and standard error %q", got.code, got.stderr)
	}
	all := lines(t, got.stdout)
	if len(all) != 5 {
		t.Fatalf("got %q", got.stdout)
	}
	if l := all[0]; l.Node != 0 || l.PID == 0 || l.Exit == nil || *l.Exit != 3 || l.Stdout != "text\n" || l.Stderr != "<&>\n" || l.Error != "" || l.Signal != "" {
		t.Errorf("got %+v", l)
	}
	if l := all[1]; l.Node != 1 || l.Exit == nil || *l.Exit != 0 || l.Stdout != "/w==" || !l.Base64 {
		t.Errorf("got %+v", l)
	}
	if l := all[2]; l.Node != killed || l.Exit != nil || l.Signal != "SIGKILL" || l.Error != "" {
		t.Errorf("got %+v", l)
	}
	if l := all[3]; l.Node != 30 || l.PID != 0 || l.Exit != nil || l.Error != "node 30 is down" {
		t.Errorf("got %+v", l)
	}
	if l := all[4]; l.Exit != nil || l.Signal != "SIGRTMIN+6" {
		t.Errorf("got %+v", l)
	}
}

func TestTimeout(t *testing.T) {
	m := fakemaster.Start(t, onRun(nil))
	limited := limit.Scaled(300 * time.Millisecond)
	began := time.Now()
	got := run(t, m.Client, strings.NewReader(""), "--timeout", limited.String(), "-1", "sh", "-c", "sleep 100 & wait")
	if want := (result{124, "", fmt.Sprintf("bpsh: node -1: timed out after %v\n", limited)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if took := time.Since(began); took < limited {
		t.Errorf("it took %v", took)
	}
	got = run(t, m.Client, strings.NewReader(""), "--timeout", "1h", "-1", "sh", "-c", "exit 3")
	if want := (result{code: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = run(t, m.Client, strings.NewReader(""), "--json", "--timeout", limited.String(), "-1", "sh", "-c", "echo begin; sleep 100")
	if all := lines(t, got.stdout); len(all) != 1 || !all[0].TimedOut || all[0].Signal != "SIGTERM" || all[0].Stdout != "begin\n" || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}

// TestStubborn ends a command whose descendants ignore SIGTERM. The parent of one of them has ended
// before SIGKILL comes.
func TestStubborn(t *testing.T) {
	m := fakemaster.Start(t, onRun(nil))
	pids := t.TempDir() + "/pids"
	script := `trap "" TERM; (echo $BASHPID >>` + pids + `; exec sleep 1000) & trap - TERM; (trap "" TERM; echo $BASHPID >>` + pids + `; while :; do sleep 1000; done) & wait`
	var children []string
	for limited := 500 * time.Millisecond; len(children) != 2; limited *= 2 { // a busy machine has started less by then
		if limited > 20*time.Second {
			t.Fatalf("got children %q", children)
		}
		if err := os.WriteFile(pids, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, m.Client, strings.NewReader(""), "--timeout", limited.String(), "-1", "bash", "-c", script)
		if want := (result{124, "", fmt.Sprintf("bpsh: node -1: timed out after %v\n", limited)}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		text, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		children = strings.Fields(string(text))
	}
	for _, pid := range children {
		for deadline := time.Now().Add(limit.Scaled(20 * time.Second)); ; time.Sleep(time.Millisecond) {
			stat, _ := os.ReadFile("/proc/" + pid + "/stat") // a killed process exists until it has run once more
			if state := strings.Fields(string(stat)); len(state) <= 2 || state[2] == "Z" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("there is still %s", stat)
			}
		}
	}
}

func TestFailFast(t *testing.T) {
	m := fakemaster.Start(t, onRun(nil))
	t.Setenv("PIPE", t.TempDir()+"/pipe")
	if err := unix.Mkfifo(os.Getenv("PIPE"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The second command fails while the others run.
	script := `case $BPROC_RANK in *1) read a <$PIPE; exit 3;; *2) sleep 100;; *0) echo >$PIPE; sleep 100;; esac`
	got := run(t, m.Client, strings.NewReader(""), "-k", "master,master,master", "sh", "-c", script)
	if want := (result{3, "", "bpsh: node -1: exit status 3; the other commands are ended\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// An exit status above 128 is no signal.
	for script, want := range map[string]string{"exit 130": "exit status 130", "kill -KILL $$": "ended by SIGKILL"} {
		script = `case $BPROC_RANK in *1) read a <$PIPE; ` + script + `;; *) echo >$PIPE; sleep 100;; esac`
		got = run(t, m.Client, strings.NewReader(""), "-k", "master,master", "sh", "-c", script)
		if want := "bpsh: node -1: " + want + "; the other commands are ended\n"; got.stderr != want {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	got = run(t, m.Client, strings.NewReader(""), "-k", "master,master", "true")
	if want := (result{}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestJSONNotStarted has commands whose starts are given up: they have no exit status.
func TestJSONNotStarted(t *testing.T) {
	asked := make(chan struct{}, 1)
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		asked <- struct{}{}
		c.Gone()
	}))
	got := run(t, m.Client, strings.NewReader(""), "--json", "--timeout", limit.Scaled(300*time.Millisecond).String(), "3", "cmd")
	if all := lines(t, got.stdout); got.code != 124 || len(all) != 1 || all[0].Exit != nil || !all[0].TimedOut || all[0].Error != "timed out" {
		t.Errorf("timed out: got %+v", got)
	}
	<-asked
	cmd := command(t, m, "--json", "3", "cmd")
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := unix.Kill(cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if all := lines(t, stdout.String()); cmd.ProcessState.ExitCode() != 143 || len(all) != 1 || all[0].Exit != nil || all[0].Error != "caught SIGTERM" {
		t.Errorf("SIGTERM: got exit code %d and %q", cmd.ProcessState.ExitCode(), stdout.String())
	}
}

// TestOnePipe: lines that come from both outputs into one pipe are whole.
func TestOnePipe(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		for range 6 { // less than a window: this master does not wait for room
			_ = c.Output(out, strings.Repeat(strings.Repeat("o", 600)+"\n", 100))
			_ = c.Output(bad, "error\n")
		}
		c.End(0)
	}))
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		var all strings.Builder
		for { // slowly: the pipe is full most of the time
			n, err := io.CopyN(&all, from, 50_000)
			if n == 0 || err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		text <- all.String()
	}()
	other, err := unix.FcntlInt(to.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	again := os.NewFile(uintptr(other), "stderr")
	sh := bpsh.Shell{Client: &m.Client, Stdin: strings.NewReader(""), Stdout: client.NewFile(to), Stderr: client.NewFile(again)}
	if code := sh.Main(t.Context(), []string{"-L", "--tasks-per-node", "8", "3", "cmd"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	to.Close()
	again.Close()
	for line := range strings.Lines(<-text) {
		if line != "error\n" && line != strings.Repeat("o", 600)+"\n" {
			t.Fatalf("got the line %.40q", line)
		}
	}
}

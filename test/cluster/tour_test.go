package cluster_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/cluster/demo/tour"
	"bproc/test/limit"
)

// tourTime is how long one line of the demonstration may take.
var tourTime = limit.Scaled(30 * time.Second)

// TestTour runs the lines that "make demo" shows.
func TestTour(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: tour.Nodes})
	startView(t, c)
	for _, step := range tour.Steps {
		shown, err := step.Take(func(line string, out *os.File) error { return inShell(t, c.Front, line, out) })
		if err != nil {
			t.Fatalf("%v\nit prints\n%s", err, shown)
		}
	}
}

// inShell runs a shell line until the shell has ended, though other processes may go on. The shell
// is killed if that takes too long.
func inShell(t *testing.T, m *cluster.Machine, line string, out *os.File) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), tourTime, fmt.Errorf("it has not ended after %v", tourTime))
	defer cancel()
	cmd := m.Command(ctx, cluster.Root, "bash", "-c", line)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// firstSteps are the lines of "A real cluster" in the README, with the terminal for each and its
// output. Those that install have no terminal: the machines have bproc installed.
var firstSteps = []struct{ line, at, shows string }{
	{"make packages", "", ""},
	{"scp build/packages/bproc-*.deb front-end:", "", ""},
	{"apt install ./bproc-client_*.deb ./bproc-frontend_*.deb ./bproc-doc_*.deb", "", ""},
	{"systemctl enable --now bpmaster", "front", ""},
	{"bpctl enroll", "front", `^\S{40,}\r\n$`},
	{"apt install ./bproc-client_*.deb ./bproc-node_*.deb", "", ""},
	{"echo MASTER=front-end >>/etc/bproc/slave", "node", ""},
	{"(umask 077; echo TOKEN >/etc/bproc/token)", "node", ""},
	{"systemctl enable --now bpslave", "node", ""},
	{"bpstat", "front", `(?m)^0 +up `},
	{"bpsh 0 uname -a", "front", `^Linux n0 .*\r\n$`},
	{"bpsh -a -p uptime", "front", `^ *0: .* load average: .*\r\n$`},
	{"ps -ef", "front", `(?m) \S*bpmaster\r$`},
	{"bpns top", "front", ""},
	{"bpsh --procfs 0 ps -ef", "front", `(?m) \S*bpmaster\r$`},
}

// readmeSteps returns the shell lines in a section of the README, without their descriptions.
func readmeSteps(t *testing.T, section string) (lines []string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if line, code := strings.CutPrefix(line, "    "); code {
			line, _, _ = strings.Cut(line, "#")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestFirstSteps types the README's lines on terminals of a front end and a node.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	lines := readmeSteps(t, "A real cluster")
	if len(lines) != len(firstSteps) {
		t.Fatalf("the README has %d lines, want %d:\n%s", len(lines), len(firstSteps), strings.Join(lines, "\n"))
	}
	c := cluster.Start(t, cluster.Config{Nodes: 1, NoSlaves: true, Systemd: true})
	first := newFirst(t, c)
	for i, step := range firstSteps {
		if lines[i] != step.line {
			t.Fatalf("line %d of the README is %q, want %q", i+1, lines[i], step.line)
		}
		first.take(step.line, step.at, step.shows)
	}
}

// first types the first steps.
type first struct {
	t         *testing.T
	c         *cluster.Cluster
	terminals map[string]*terminal // daemons have terminals, on which they log
	token     string
}

func newFirst(t *testing.T, c *cluster.Cluster) *first {
	t.Helper()
	f := &first{t: t, c: c, terminals: map[string]*terminal{}}
	hosts, err := c.Nodes[0].ReadFile("/etc/hosts")
	if err == nil {
		err = c.Nodes[0].WriteFile("/etc/hosts", string(hosts)+"10.77.0.1 front-end\n", 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := os.ReadFile("../../packaging/etc/slave")
	if err == nil {
		err = c.Nodes[0].WriteFile("/etc/bproc/slave", string(defaults), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.terminals["front"] = newTerminal(t, c.Front, cluster.Root)
	f.terminals["node"] = newTerminal(t, c.Nodes[0], cluster.Root)
	return f
}

// take types a line, and waits for its effect.
func (f *first) take(line, at, shows string) {
	f.t.Helper()
	term := f.terminals[at]
	switch {
	case at == "":
		return
	case line == "bpns top":
		f.top(line)
		return
	}
	term.do(strings.Replace(line, "TOKEN", f.token, 1))
	shown := term.expect(terminalPrompt)
	if !regexp.MustCompile(shows).MatchString(shown) {
		f.t.Fatalf("%s shows\n%s\nwant a match of %s", line, shown, shows)
	}
	switch line {
	case "bpctl enroll":
		f.token = strings.TrimSpace(shown)
	case "systemctl enable --now bpslave":
		f.wait("the node is up", f.c.WaitUp)
	}
}

// wait waits for a state of the node.
func (f *first) wait(what string, is func(context.Context, ...int) error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), tourTime)
	defer cancel()
	if err := is(ctx, 0); err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
}

// top starts top, and quits it.
func (f *first) top(line string) {
	f.t.Helper()
	term := f.terminals["front"]
	term.do("export TERM=vt100")
	term.expect(terminalPrompt)
	term.do(line)
	term.expect("load average")
	term.typ("q")
	term.expect(terminalPrompt)
}

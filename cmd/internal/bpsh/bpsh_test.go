package bpsh_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/manpage"
	"bproc/wire"
)

// asCommand makes the test program run as bpsh, for tests that send it signals.
const asCommand = "BPSH_TEST_GHOST"

// catchLate makes this bpsh leave signals their default actions.
const catchLate = "BPSH_TEST_CATCH_LATE"

func TestMain(m *testing.M) {
	if terminal.Guard() {
		return
	}
	if ghost := os.Getenv(asCommand); ghost != "" {
		sh := bpsh.Shell{Client: &client.Client{GhostPath: ghost}, Stdin: client.NewFile(os.Stdin), Stdout: client.NewFile(os.Stdout), Stderr: client.NewFile(os.Stderr)}
		if os.Getenv(catchLate) != "" {
			sh.CatchAfter = time.Hour
			_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // none for SIGQUIT
		}
		unix.Exit(sh.Main(context.Background(), os.Args[1:]))
	}
	fakemaster.Main(m)
}

// buffer is a bytes.Buffer for concurrent use, like a file.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// result is the outcome of a run of bpsh.
type result struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, c client.Client, stdin io.Reader, args ...string) result {
	t.Helper()
	var stdout, stderr buffer
	sh := bpsh.Shell{Client: &c, Stdin: stdin, Stdout: &stdout, Stderr: &stderr}
	code := sh.Main(t.Context(), args)
	return result{code, stdout.String(), stderr.String()}
}

// runTo is run with the given standard output and without input.
func runTo(t *testing.T, c client.Client, stdout io.Writer, args ...string) result {
	t.Helper()
	var stderr buffer
	sh := bpsh.Shell{Client: &c, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: &stderr}
	code := sh.Main(t.Context(), args)
	return result{code: code, stderr: stderr.String()}
}

// table is the node table of the tests.
var table = []wire.Node{
	{ID: 0, Name: "a", State: "up"},
	{ID: 1, Name: "b", State: "up"},
	{ID: 2, Name: "c", State: "down"},
	{ID: 3, Name: "d", State: "boot"},
}

// killed is a node that is up and on which the process is killed.
const killed = 20

// onRun handles Run by handle, and answers requests for the node table.
func onRun(handle func(c *fakemaster.Conn, r *wire.Run)) fakemaster.Handler {
	return func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.Run:
			handle(c, m)
		case *wire.ListNodes:
			c.Send(&wire.NodeList{Nodes: table})
		case *wire.Attach: // after a broken connection, or when the process was killed
			if m.Node == killed {
				c.Resumed(0)
				return
			}
			c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
		}
	}
}

func TestExitCodes(t *testing.T) {
	// Each node behaves according to its number.
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		switch r.Node {
		case 10:
			c.Fail(wire.StageNode, uint32(unix.ENXIO), "", 0)
		case 11:
			c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
		case 12:
			c.Fail(wire.StageExec, uint32(unix.ENOENT), "", 127)
		case 13:
			c.Fail(wire.StageExec, uint32(unix.EACCES), "", 126)
		case 14:
			c.Fail(wire.StageGhost, uint32(unix.EPERM), "no ghosts today", 0)
		case killed:
			c.Started()
			c.End(wire.SignalStatus(9))
		default:
			c.Started()
			c.End(wire.ExitStatus(int(r.Node)))
		}
	}))
	tests := []struct {
		args   string
		code   int
		stderr string
	}{
		{"0 cmd", 0, ""},
		{"7 cmd", 7, ""},
		{"20 cmd", 137, ""},
		{"0,7,3 cmd", 7, ""},
		{"7,20 cmd", 137, ""},
		{"10 cmd", 255, "bpsh: node 10: no such node\n"},
		{"11 cmd", 255, "bpsh: node 11 is down\n"},
		{"12 cmd", 127, "bpsh: node 12: cmd: command not found\n"},
		{"13 cmd", 126, "bpsh: node 13: cmd: permission denied\n"},
		{"14 cmd", 255, "bpsh: node 14: no ghosts today\n"},
		{"3,12 cmd", 127, "bpsh: node 12: cmd: command not found\n"},
		{"12,12 cmd", 127, "bpsh: node 12: cmd: command not found\n"},
		{"unavailable cmd", 0, "bpsh: no node is unavailable: nothing is run\n"},
		{"-1 sh -c exit\t5", 5, ""},
		{"-1 kill\t-9\t$$", 127, "bpsh: kill\t-9\t$$: command not found\n"},
		{"master /", 126, "bpsh: /: is a directory\n"},
		{"nosuch cmd", 255, "bpsh: node nosuch: no such node, and no such state\n"},
		{"4-2 cmd", 255, "bpsh: node specification \"4-2\": range 4-2 ends before it begins\n"},
		{"", 255, "bpsh: no nodes given; --help says how\n"},
		{"3", 255, "bpsh: no command given; --help says how\n"},
		{"-a", 255, "bpsh: no command given; --help says how\n"},
		{"-a -1 cmd", 255, "bpsh: -a, -A and -1 exclude each other\n"},
		{"-b 0 3 cmd", 255, "bpsh: -b 0: a line has 1 to 1048576 bytes\n"},
		{"-g --json 3 cmd", 255, "bpsh: --group and --json exclude each other, and -L, -p, -s and -d\n"},
		{"-gp 3 cmd", 255, "bpsh: --group and --json exclude each other, and -L, -p, -s and -d\n"},
		{"-gT 3 cmd", 255, "bpsh: -T excludes --group and --json: output is the terminal\n"},
		{"--timeout -1s 3 cmd", 255, "bpsh: --timeout -1s: a time is not negative\n"},
		{"--timeout 10 3 cmd", 255, "bpsh: option --timeout: \"10\" is not a time with its unit, such as 90s or 5m\n"},
		{"--tasks-per-node 0 3 cmd", 255, "bpsh: --tasks-per-node 0: a number from 1 to 65536\n"},
		{"--stdin= 3 cmd", 255, "bpsh: option -I, --stdin: its value is empty\n"},
		{"--tasks-per-node -1 3 cmd", 255, "bpsh: --tasks-per-node -1: a number from 1 to 65536\n"},
		{"-X 3 cmd", 255, "bpsh: there is no option -X; --help lists those that there are\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got := run(t, m.Client, strings.NewReader(""), strings.Fields(tt.args)...)
			if strings.Contains(tt.args, "\t") {
				words := strings.Split(tt.args, " ")
				for i := range words {
					words[i] = strings.ReplaceAll(words[i], "\t", " ")
				}
				got = run(t, m.Client, strings.NewReader(""), words...)
				tt.stderr = strings.ReplaceAll(tt.stderr, "\t", " ")
			}
			if want := (result{tt.code, "", tt.stderr}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestEveryExitCode(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		c.End(wire.ExitStatus(int(r.Node)))
	}))
	for code := range 256 {
		if got := run(t, m.Client, strings.NewReader(""), "-n", client.NodeID(code).String(), "cmd").code; got != code {
			t.Errorf("got %d, want %d", got, code)
		}
	}
}

func TestNoMaster(t *testing.T) {
	c := client.Client{Socket: filepath.Join(t.TempDir(), "s")}
	want := result{255, "", fmt.Sprintf("bpsh: no master is running here (%s: no such file or directory): on the front end 'systemctl start bpmaster' or bpmaster itself starts it, and 'bpctl check' says what is wrong\n", c.Socket)}
	for _, nodes := range []string{"3", "0,1,2", "up"} {
		if got := run(t, c, strings.NewReader(""), nodes, "true"); got != want {
			t.Errorf("%s: got %+v, want %+v", nodes, got, want)
		}
	}
}

func TestNodes(t *testing.T) {
	var mu sync.Mutex
	var got []string
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		mu.Lock()
		for _, v := range r.Command.Env {
			if rank, ok := strings.CutPrefix(v, "BPROC_RANK="); ok {
				got = append(got, rank+"@"+r.Node.String())
			}
		}
		if !slices.Contains(r.Command.Env, "BPROC_PROGNAME=cmd") || slices.Contains(r.Command.Env, "BPROC_RANK=outer") {
			t.Errorf("environment %q", r.Command.Env)
		}
		mu.Unlock()
		c.Started()
		c.End(0)
	}))
	t.Setenv("BPROC_RANK", "outer")
	tests := []struct {
		args string
		want string
	}{
		{"-a cmd", "0000000@0 0000001@1"},
		{"-A cmd", "0000000@0 0000001@1 0000002@3"},
		{"b,0 cmd", "0000000@1 0000001@0"},
		{"1- cmd -a", "0000000@1 0000001@2 0000002@3"},
		{"-nl me 5 cmd", "0000000@5"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got = nil
			if r := run(t, m.Client, strings.NewReader(""), strings.Fields(tt.args)...); r.code != 0 || r.stderr != "" {
				t.Errorf("got %+v", r)
			}
			slices.Sort(got)
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

func TestDescriptors(t *testing.T) {
	null := wire.Descriptor{}
	stream := wire.Descriptor{Mode: wire.DescriptorStream}
	file := func(path string) wire.Descriptor { return wire.Descriptor{Mode: wire.DescriptorFile, Path: path} }
	tests := []struct {
		options string
		want    [3]wire.Descriptor
	}{
		{"", [3]wire.Descriptor{stream, stream, stream}},
		{"-n", [3]wire.Descriptor{null, stream, stream}},
		{"-N", [3]wire.Descriptor{null, null, null}},
		{"-NO /o", [3]wire.Descriptor{null, file("/o"), null}},
		{"-N -I /i -O /o -E /e", [3]wire.Descriptor{file("/i"), file("/o"), file("/e")}},
		{"-I /i -O /o -E /e", [3]wire.Descriptor{file("/i"), file("/o"), file("/e")}},
		{"-nO /o", [3]wire.Descriptor{null, file("/o"), stream}},
		{"-nI /i", [3]wire.Descriptor{null, stream, stream}},
		{"-pd", [3]wire.Descriptor{stream, stream, stream}},
	}
	for _, tt := range tests {
		t.Run(tt.options, func(t *testing.T) {
			var got [3]wire.Descriptor
			m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
				got = r.Command.Stdio
				c.Started()
				c.End(0)
			}))
			if r := run(t, m.Client, strings.NewReader(""), append(strings.Fields(tt.options), "3", "cmd")...); r.code != 0 {
				t.Errorf("got %+v", r)
			}
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTime(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		c.End(0)
	}))
	got := run(t, m.Client, strings.NewReader(""), "-t", "3", "cmd")
	seconds, used, _ := strings.Cut(got.stderr, " ")
	elapsed, err := strconv.ParseFloat(seconds, 64)
	if err != nil || elapsed <= 0 || len(seconds) != len("0.000000") || used != "1.500000 user 0.250000 system 4096 KiB\n" {
		t.Errorf("got %+v", got)
	}
}

func TestManPage(t *testing.T) {
	help := run(t, client.Client{}, nil, "--help")
	if help.code != 0 || help.stderr != "" {
		t.Fatalf("got %+v", help)
	}
	manpage.CheckOptions(t, "../../../man/bpsh.1", help.stdout)
}

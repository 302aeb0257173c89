package bpsh_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// piece is a frame of output.
type piece struct {
	to   wire.Type
	text string
}

const (
	out = wire.TypeStdout
	bad = wire.TypeStderr
)

func TestOutputOfOneNode(t *testing.T) {
	tests := []struct {
		name           string
		options        string
		pieces         []piece
		stdout, stderr string
	}{
		{"as it is", "", []piece{{out, "a\nb"}, {bad, "x"}, {out, "c"}}, "a\nbc", "x"},
		{"lines", "-L", []piece{{out, "a\nb"}, {out, "c\n"}, {out, "rest"}}, "a\nbc\nrest", ""},
		{"prefix", "-p", []piece{{out, "a\nb"}, {bad, "x\n"}, {out, "c\n"}, {out, "rest"}}, "  5: a\n  5: bc\n  5: rest\n", "  5: x\n"},
		{"empty lines", "-p", []piece{{out, "\n\n"}}, "  5: \n  5: \n", ""},
		{"long lines", "-Lb3", []piece{{out, "abcdefgh\nxyz\n"}}, "abcdefgh\nxyz\n", ""},
		{"long lines with prefix", "-pb3", []piece{{out, "abcdefgh\nxyz\n"}, {out, "12"}, {out, "34"}}, "  5: abc\n  5: def\n  5: gh\n  5: xyz\n  5: 123\n  5: 4\n", ""},
		{"line as long as allowed", "-pb3", []piece{{out, "abc"}, {out, "\nd\n"}}, "  5: abc\n  5: d\n", ""},
		{"sequential", "-s", []piece{{out, "a"}, {bad, "x"}}, "a", "x"},
		{"divider", "-d", []piece{{out, "a\n"}}, "5\t" + strings.Repeat("-", 69) + "\na\n", ""},
		{"divider without output", "-d", nil, "5\t" + strings.Repeat("-", 69) + "\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
				c.Started()
				for _, p := range tt.pieces {
					if err := c.Output(p.to, p.text); err != nil {
						t.Error(err)
					}
				}
				c.End(0)
			}))
			got := run(t, m.Client, strings.NewReader(""), append(strings.Fields(tt.options), "5", "cmd")...)
			if want := (result{0, tt.stdout, tt.stderr}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestLongOutput passes large output through every mode that keeps it byte-exact, and then checks
// that no files are left.
func TestLongOutput(t *testing.T) {
	text := make([]string, 4)
	for node := range text {
		text[node] = strings.Repeat(fmt.Sprintf("a line of node %d\n", node), 20_000)
	}
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		for s := range slices.Chunk([]byte(text[r.Node]), 50_000) {
			if err := c.Output(out, string(s)); err != nil {
				t.Error(err)
			}
			if err := c.Output(bad, "*"); err != nil {
				t.Error(err)
			}
		}
		c.End(0)
	}))
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, options := range []string{"-s", "-sL", "-L", "-p"} {
		t.Run(options, func(t *testing.T) {
			got := run(t, m.Client, strings.NewReader(""), options, "2,0,1,3", "cmd")
			want := text[2] + text[0] + text[1] + text[3]
			if options == "-L" || options == "-p" {
				// Whole lines, in any order of the nodes.
				got.stdout, want = sorted(got.stdout), sorted(want)
			}
			if options == "-p" {
				for node := range text {
					want = strings.ReplaceAll(want, fmt.Sprintf("a line of node %d", node), fmt.Sprintf("%3d: a line of node %d", node, node))
				}
			}
			if got.stdout != want {
				t.Errorf("got %d bytes, want %d", len(got.stdout), len(want))
			}
			if stars := strings.Count(got.stderr, "*"); stars != 4*(len(text[0])/50_000+1) {
				t.Errorf("got %d stars", stars)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestSequentialOrder lets the last node write first.
func TestSequentialOrder(t *testing.T) {
	ended := make([]chan struct{}, 3)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		if r.Node < 2 {
			<-ended[r.Node+1]
		}
		for _, p := range []piece{{out, "1"}, {bad, "2"}, {out, "3\n"}} {
			if err := c.Output(p.to, p.text); err != nil {
				t.Error(err)
			}
		}
		c.End(0)
		close(ended[r.Node])
	}))
	got := run(t, m.Client, strings.NewReader(""), "-sp", "0,1,2", "cmd")
	want := result{0, "  0: 13\n  1: 13\n  2: 13\n", "  0: 2\n  1: 2\n  2: 2\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestOutputLost has a master that ends during the output, and its ghost too.
func TestOutputLost(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		_ = c.Output(out, "begin")
		go c.EndProcess(0)
	}))
	got := run(t, m.Client, strings.NewReader(""), "3", "cmd")
	want := result{255, "begin", "bpsh: node 3 is down\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestNonblocking makes standard input and output non-blocking from another process while bpsh
// waits to read, and before it writes more than the pipe holds.
func TestNonblocking(t *testing.T) {
	pipe := func() (ends [2]*os.File) {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		for i := range ends {
			ends[i] = os.NewFile(uintptr(fds[i]), "pipe")
			t.Cleanup(func() { ends[i].Close() })
		}
		return ends
	}
	stdin, stdout := pipe(), pipe()
	const size = 1 << 20
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		for _, f := range []*os.File{stdin[0], stdout[1]} {
			if err := unix.SetNonblock(int(f.Fd()), true); err != nil {
				t.Error(err)
			}
		}
		for range 2 { // the first read may have begun before the change
			if _, err := stdin[1].WriteString("line\n"); err != nil {
				t.Error(err)
			}
			if _, err := c.Input(); err != nil {
				t.Error(err)
			}
		}
		stdin[1].Close()
		for range size >> 15 {
			_ = c.Output(out, strings.Repeat("x", 1<<15))
		}
		c.End(0)
	}))
	var stderr buffer
	sh := bpsh.Shell{
		Client: &m.Client, Stdin: client.NewFile(stdin[0]), Stdout: client.NewFile(stdout[1]), Stderr: &stderr,
	}
	ended := make(chan struct{})
	code := 0
	go func() {
		defer close(ended)
		code = sh.Main(t.Context(), []string{"3", "cmd"})
	}()
	got := 0
	for more := true; more; {
		select {
		case <-ended:
			more = false
			stdout[1].Close()
			rest, err := io.ReadAll(stdout[0])
			if err != nil {
				t.Error(err)
			}
			got += len(rest)
		case <-time.After(time.Millisecond):
			if !writable(stdout[1]) {
				n, err := stdout[0].Read(make([]byte, size))
				if err != nil {
					t.Error(err)
				}
				got += n
			}
		}
	}
	if code != 0 || stderr.String() != "" {
		t.Errorf("exit status %d, %s", code, stderr.String())
	}
	if got != size {
		t.Errorf("got %d bytes, want %d", got, size)
	}
}

func writable(f *os.File) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}, 0)
	return n > 0 || err != nil
}

// TestSequentialFull lets a command go on writing whose turn never comes, because standard output
// fails with ENOSPC.
func TestSequentialFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		for c.Output(out, "x") == nil && r.Node == 2 {
			time.Sleep(time.Millisecond)
		}
		c.End(0)
	}))
	got := runTo(t, m.Client, full, "-s", "0-2", "cmd")
	if got.code != 255 || !strings.Contains(got.stderr, "node 2: write /dev/full: no space left on device\n") {
		t.Errorf("got %+v", got)
	}
}

func TestStdoutFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		_ = c.Output(out, "x")
		c.Gone()
		c.EndProcess(wire.SignalStatus(1))
	}))
	got := runTo(t, m.Client, full, "3", "cmd")
	want := result{255, "", "bpsh: node 3: write /dev/full: no space left on device\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

package bpsh_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bproc/internal/fakemaster"
	"bproc/wire"
)

const bulk = 8 << 20

func bulkInput() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{7}), bulk) }

// readAll returns the checksum of a process's input.
func readAll(t *testing.T, c *fakemaster.Conn) string {
	h := sha256.New()
	for {
		b, err := c.Input()
		if errors.Is(err, io.EOF) {
			return string(h.Sum(nil))
		}
		if err != nil {
			t.Error(err)
			return ""
		}
		h.Write(b)
	}
}

// TestInputToAll gives input to several nodes. One of them ends without reading it, another after
// the first piece.
func TestInputToAll(t *testing.T) {
	h := sha256.New()
	if _, err := io.Copy(h, bulkInput()); err != nil {
		t.Fatal(err)
	}
	want := string(h.Sum(nil))
	var readers atomic.Int32
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		switch r.Node {
		case 4:
		case 5:
			if _, err := c.Input(); err != nil {
				t.Error(err)
			}
		default:
			if got := readAll(t, c); got != want {
				t.Errorf("node %d: the checksum is wrong", r.Node)
			}
			readers.Add(1)
		}
		c.End(0)
	}))
	if got := run(t, m.Client, bulkInput(), "0,4,1,5,2", "cmd"); got != (result{}) {
		t.Errorf("got %+v", got)
	}
	if n := readers.Load(); n != 3 {
		t.Errorf("%d nodes read all of it, want 3", n)
	}
}

// TestInputClosed gives input to two nodes. One closes its standard input and runs until the other
// has read everything.
func TestInputClosed(t *testing.T) {
	read := make(chan struct{})
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		if r.Node == 0 {
			c.CloseInput()
			var rest sync.WaitGroup
			rest.Go(c.Gone) // takes input under way
			<-read
			c.EndOutputs()
			c.EndProcess(0)
			rest.Wait()
			return
		}
		readAll(t, c)
		close(read)
		c.End(0)
	}))
	if got := run(t, m.Client, bulkInput(), "0,1", "cmd"); got != (result{}) {
		t.Errorf("got %+v", got)
	}
}

// TestSequentialInput lets each node print its input. If a node were held up before its turn, the
// node whose turn it is would not get its input.
func TestSequentialInput(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		for {
			b, err := c.Input()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Error(err)
				break
			}
			if err := c.Output(out, string(b)); err != nil {
				t.Error(err)
			}
		}
		c.End(0)
	}))
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	got := run(t, m.Client, strings.NewReader(text), "-s", "0,1,2", "cat")
	if want := (result{0, strings.Repeat(text, 3), ""}); got != want {
		t.Errorf("got %d, %d bytes, %q", got.code, len(got.stdout), got.stderr)
	}
}

// TestInputWithoutEnd has a standard input on which reads block forever, as some launchers leave
// it.
func TestInputWithoutEnd(t *testing.T) {
	for _, nodes := range []string{"3", "0,1", "0,-1"} {
		t.Run(nodes, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
				c.Started()
				c.End(0)
			}))
			if got := run(t, m.Client, r, nodes, "true"); got != (result{}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestInputUnreadable(t *testing.T) {
	dir, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		readAll(t, c)
		c.End(0)
	}))
	for _, nodes := range []string{"3", "3,3"} {
		got := run(t, m.Client, dir, nodes, "cat")
		want := result{255, "", "bpsh: node 3: read standard input: read /: is a directory\n"}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", nodes, got, want)
		}
	}
}

// TestFrontEndAmongNodes runs a command on the front end and on a node, with the same input.
func TestFrontEndAmongNodes(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		b, err := c.Input()
		if err != nil {
			t.Error(err)
		}
		if err := c.Output(out, fmt.Sprintf("%s$\n", b[:len(b)-1])); err != nil {
			t.Error(err)
		}
		c.End(0)
	}))
	got := run(t, m.Client, strings.NewReader("hello\n"), "-sp", "-1,4", "cat")
	if got.code == 0 {
		t.Errorf("-1 as the first operand is an option: got %+v", got)
	}
	got = run(t, m.Client, strings.NewReader("hello\n"), "-sp", "master,4", "cat", "-E")
	if want := (result{0, " -1: hello$\n  4: hello$\n", ""}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

package client_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

func TestOutputs(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		for _, step := range []struct {
			t    wire.Type
			data string
		}{{wire.TypeStdout, "one "}, {wire.TypeStderr, "bad "}, {wire.TypeStdout, "two"}, {wire.TypeStderr, "worse"}} {
			if err := c.Output(step.t, step.data); err != nil {
				t.Error(err)
			}
		}
		c.End(0)
	})
	var stdout, stderr bytes.Buffer
	cmd := m.Client.Command(2, "prog")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if stdout.String() != "one two" || stderr.String() != "bad worse" {
		t.Errorf("got %q and %q", stdout.String(), stderr.String())
	}
}

// pattern is a stream of bytes that depend on their place.
type pattern struct{ *rand.ChaCha8 }

func newPattern() pattern { return pattern{rand.NewChaCha8([32]byte{1})} }

const bulk = 48 << 20

func sum(t *testing.T, r io.Reader) string {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		t.Error(err)
	}
	return string(h.Sum(nil))
}

// TestBulkOutput sends frames of all sizes, in writes that do not end where they
// do.
func TestBulkOutput(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		src := io.LimitReader(newPattern(), bulk)
		buf := make([]byte, wire.MaxData)
		for size := 1; ; size = size*5%wire.MaxData + 1 {
			n, err := io.ReadFull(src, buf[:size])
			if n > 0 && c.Output(wire.TypeStdout, string(buf[:n])) != nil {
				t.Error("the client has gone")
			}
			if err != nil {
				break
			}
		}
		c.End(0)
	})
	h := sha256.New()
	cmd := m.Client.Command(2, "prog")
	cmd.Stdout = h
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if string(h.Sum(nil)) != sum(t, io.LimitReader(newPattern(), bulk)) {
		t.Error("the checksum is wrong")
	}
}

func TestBulkInput(t *testing.T) {
	sums := make(chan string, 1)
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		got := sha256.New()
		for {
			b, err := c.Input()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Error(err)
				break
			}
			got.Write(b)
		}
		sums <- string(got.Sum(nil))
		c.End(0)
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin = io.LimitReader(newPattern(), bulk)
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if got := <-sums; got != sum(t, io.LimitReader(newPattern(), bulk)) {
		t.Error("the checksum is wrong")
	}
}

// TestInputThatNeverEnds has an input on which a read never returns.
func TestInputThatNeverEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := fakemaster.Start(t, exits(wire.ExitStatus(3)))
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin = r
	if status, err := run(t.Context(), cmd); err != nil || status != wire.ExitStatus(3) {
		t.Errorf("got %#x, %v", status, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// pieces gives a piece at each Read.
type pieces chan string

func (p pieces) Read(b []byte) (int, error) { return copy(b, <-p), nil }

// TestInputAfterEnd has input come when the process has ended: it is for others.
func TestInputAfterEnd(t *testing.T) {
	m := fakemaster.Start(t, exits(0))
	end := func(stdin io.Reader) {
		cmd := m.Client.Command(2, "prog")
		cmd.Stdin = stdin
		if status, err := run(t.Context(), cmd); err != nil || status != 0 {
			t.Fatalf("got %#x, %v", status, err)
		}
	}
	var fds [2]int // of a pipe that blocks, as standard input mostly is
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	end(r)
	end(client.NewFile(r))
	other := make(pieces, 3)
	end(other)
	for _, piece := range []string{"one", "two", "six"} {
		if _, err := w.WriteString(piece); err != nil {
			t.Error(err)
		}
		other <- piece
	}
	time.Sleep(limit.Scaled(50 * time.Millisecond)) // who would read it does so meanwhile
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "onetwosix" {
		t.Errorf("of a file got %q, %v", got, err)
	}
	if left := len(other); left < 2 { // a Read is under way that cannot be stopped
		t.Errorf("%d pieces are left, want 2", left)
	}
}

func TestInputError(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		if b, err := c.Input(); !errors.Is(err, io.EOF) {
			t.Errorf("got %q, %v", b, err)
		}
		c.End(0)
	})
	dir, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin = dir
	if _, err := run(t.Context(), cmd); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("got %v, want %v", err, syscall.EISDIR)
	}
}

// TestNullDevice checks that nothing travels to or from /dev/null.
func TestNullDevice(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var stdio [3]wire.Descriptor
	m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
		stdio = r.(*wire.Run).Command.Stdio
		c.Started()
		c.End(0)
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, null
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if stdio != [3]wire.Descriptor{} {
		t.Errorf("got %v", stdio)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterFails(t *testing.T) {
	full := errors.New("disk full")
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		_ = c.Output(wire.TypeStdout, "x")
		c.Gone()
		c.End(wire.SignalStatus(1))
	})
	cmd := m.Client.Command(2, "prog")
	cmd.Stdout = failing{full}
	if status, err := run(t.Context(), cmd); !errors.Is(err, full) || status != wire.SignalStatus(1) {
		t.Errorf("got %v, status %#x", err, status)
	}
}

func TestUnexpectedFrames(t *testing.T) {
	tests := []struct {
		name string
		send func(c *fakemaster.Conn)
	}{
		{"input", func(c *fakemaster.Conn) { _ = c.Output(wire.TypeStdin, "x") }},
		{"output that is no stream", func(c *fakemaster.Conn) { _ = c.Output(wire.TypeStderr, "x") }},
		{"message", func(c *fakemaster.Conn) { c.Send(new(wire.Started)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
				c.Started()
				tt.send(c)
				c.Gone()
				c.End(0)
			})
			cmd := m.Client.Command(2, "prog")
			cmd.Stdout = io.Discard
			_, err := run(t.Context(), cmd)
			if !errors.Is(err, wire.ErrFrame) {
				t.Errorf("got %v, want %v", err, wire.ErrFrame)
			}
		})
	}
}

func TestMany(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
		c.Started()
		_ = c.Output(wire.TypeStdout, strings.Join(r.(*wire.Run).Command.Argv, " "))
		c.End(wire.ExitStatus(int(r.(*wire.Run).Node)))
	})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			var out bytes.Buffer
			cmd := m.Client.Command(client.NodeID(i), "prog", client.NodeID(i).String())
			cmd.Stdout = &out
			status, err := run(t.Context(), cmd)
			if want := "prog " + client.NodeID(i).String(); out.String() != want || status != wire.ExitStatus(i) || err != nil {
				t.Errorf("got %q, status %#x, %v; want %q, %d", out.String(), status, err, want, i)
			}
		})
	}
	group.Wait()
}

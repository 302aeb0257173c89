package slave

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestHangUp has the client of a process leave that reads none of its input.
func TestHangUp(t *testing.T) {
	const pid = 4711
	var spawn wire.Spawn
	for fd := range spawn.Command.Stdio {
		spawn.Command.Stdio[fd].Mode = wire.DescriptorStream
	}
	p, err := openPipes(&spawn)
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeFar()
	defer p.closeNear()
	n := new(node)
	remove := n.outputs.add(pid, &output{pipes: p})

	hangUp(t, n, pid+1)
	if _, err := p.end[1].Write([]byte("x")); err != nil {
		t.Errorf("another process was hung up: %v", err)
	}
	hangUp(t, n, pid)
	for fd := 1; fd <= 2; fd++ {
		// The runtime makes SIGPIPE of these descriptors an error.
		if _, err := p.end[fd].Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
			t.Errorf("descriptor %d: got %v, want %v", fd, err, unix.EPIPE)
		}
	}
	if _, err := p.near[0].Write([]byte("late")); err != nil {
		t.Errorf("input: %v", err)
	}
	if err := p.near[0].Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(p.end[0]); string(got) != "late" || err != nil {
		t.Errorf("the process reads %q, %v, want what came before the end", got, err)
	}

	// The next process of that number is another one.
	var next pipes
	far, _ := net.Pipe()
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Close()
	next.near[1] = reading
	removeNext := n.outputs.add(pid, &output{pipes: &next, stream: far})
	remove()
	hangUp(t, n, pid)
	if _, err := reading.Read(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the next one: got %v, want %v", err, os.ErrClosed)
	}
	n.outputs.cut()
	if _, err := far.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("its stream: got %v, want %v", err, io.ErrClosedPipe)
	}
	removeNext()
	if len(n.outputs.all) != 0 {
		t.Errorf("%d are left", len(n.outputs.all))
	}
}

// hangUp has the master say so.
func hangUp(t *testing.T, n *node, pid wire.PID) {
	t.Helper()
	frame, err := wire.Append(nil, 0, &wire.HangUp{PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.receive(wire.NewReader(bytes.NewReader(frame))); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want %v", err, io.EOF)
	}
}

package master

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// socketPair returns the master's end of a client's connection, and the client's.
func socketPair(t *testing.T) (master, client *net.UnixConn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = conn.(*net.UnixConn)
		t.Cleanup(func() { conn.Close() })
	}
	return ends[0], ends[1]
}

// slowStream is the stream of a process that takes a few bytes of each write and lets the rest
// wait.
type slowStream struct {
	stream
	takes    int
	taken    bytes.Buffer
	deadline time.Time
	writes   int
	onWrite  func(n int)
	err      error // error of a write; nil: that of the deadline
}

func (s *slowStream) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slowStream) Write(b []byte) (int, error) {
	s.writes++
	if s.onWrite != nil {
		s.onWrite(s.writes)
	}
	n := min(len(b), s.takes)
	s.taken.Write(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case s.err != nil:
		return n, s.err
	}
	time.Sleep(time.Until(s.deadline))
	return n, os.ErrDeadlineExceeded
}

func TestInletGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master, _ := socketPair(t)
		node := &slowStream{takes: 3}
		in := &inlet{gone: func() bool { return hungUp(master) }, node: node}
		began := time.Now()
		n, err := in.Write([]byte("0123456789"))
		if n != 10 || err != nil || node.taken.String() != "0123456789" {
			t.Errorf("got %d, %v, taken %q", n, err, node.taken.String())
		}
		if waited := time.Since(began); waited != 3*lookAfter {
			t.Errorf("it looked after %v, want %v", waited/3, lookAfter)
		}
	})
}

// TestInletNoticesHangUp has a client leave while the process reads nothing,
// with bytes of the client still to be read.
func TestInletNoticesHangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master, client := socketPair(t)
		if _, err := client.Write([]byte("unread")); err != nil {
			t.Fatal(err)
		}
		node := &slowStream{onWrite: func(n int) {
			if n == 3 {
				client.Close()
			}
		}}
		_, err := (&inlet{gone: func() bool { return hungUp(master) }, node: node}).Write([]byte("x"))
		if !errors.Is(err, io.ErrClosedPipe) || node.writes != 3 {
			t.Errorf("got %v after %d writes, want %v after 3", err, node.writes, io.ErrClosedPipe)
		}
	})
}

// TestInletDropsAfterEnd writes to a stream that has ended: the client must be able to go on until
// it notices.
func TestInletDropsAfterEnd(t *testing.T) {
	master, _ := socketPair(t)
	node := &slowStream{takes: 1, err: errors.New("stream is closed")}
	in := &inlet{gone: func() bool { return hungUp(master) }, node: node}
	for range 2 {
		if n, err := in.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if node.writes != 1 {
		t.Errorf("%d writes to a stream that has ended after the first", node.writes)
	}
}

func TestRelayIn(t *testing.T) {
	for _, test := range []struct {
		name string
		sent []byte
		want error
	}{
		{"input and its end", wire.AppendData(wire.AppendData(nil, wire.TypeStdin, 0, []byte("in")), wire.TypeStdin, 0, nil), nil},
		{"output", wire.AppendData(nil, wire.TypeStdout, 0, []byte("out")), wire.ErrFrame},
		{"a message", append([]byte{byte(wire.TypeRun)}, make([]byte, wire.HeaderSize-1)...), wire.ErrFrame},
	} {
		t.Run(test.name, func(t *testing.T) {
			master, client := socketPair(t)
			if _, err := client.Write(test.sent); err != nil {
				t.Fatal(err)
			}
			client.Close()
			node := &slowStream{takes: 1 << 20}
			if err := relayIn(master, &inlet{gone: func() bool { return hungUp(master) }, node: node}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if test.want == nil && !bytes.Equal(node.taken.Bytes(), test.sent) {
				t.Errorf("the process got %q, want %q", node.taken.Bytes(), test.sent)
			}
		})
	}
}

package master

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestOutlet fills the connection of a client that does not read: it has room for a window of each
// output.
func TestOutlet(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	out := newOutlet(conn, false)
	if _, err := out.Write(make([]byte, smallBuffer)); err != nil || out.wide {
		t.Errorf("after a little: wide %v, %v", out.wide, err)
	}
	before := sendBuffer(t, conn)
	for range 2 * wire.Window / wire.MaxData {
		if n, err := out.Write(make([]byte, wire.MaxData)); n != wire.MaxData || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	if after := sendBuffer(t, conn); after <= before || after < 2*wire.Window {
		t.Errorf("room for %d bytes, %d before", after, before)
	}
}

func sendBuffer(t *testing.T, conn *net.UnixConn) (size int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { size, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestEndedComesBetweenFrames checks that the end of a process is reported after the frame that is
// being written.
func TestEndedComesBetweenFrames(t *testing.T) {
	first, second := wire.AppendData(nil, wire.TypeStdout, 1, []byte("some text")), wire.AppendData(nil, wire.TypeStdout, 1, nil)
	how := &wire.Ended{Status: 7, Usage: &wire.Usage{User: 5}}
	for _, at := range []int{0, wire.HeaderSize + 3, len(first), len(first) + len(second)} {
		client, master := net.Pipe()
		o := newOutlet(master, true)
		all := slices.Concat(first, second)
		go func() {
			defer master.Close()
			for i, part := range [][]byte{all[:at], all[at:]} {
				if _, err := o.Write(part); err != nil {
					t.Error(err)
				}
				if i == 0 {
					if err := o.end(how); err != nil {
						t.Error(err)
					}
					if whole := at != wire.HeaderSize+3; o.toldEnd() != whole {
						t.Errorf("after %d bytes: the end is told: %v, want %v", at, !whole, whole)
					}
				}
			}
			if !o.toldEnd() {
				t.Errorf("after %d bytes, and the rest: the end is not told", at)
			}
		}()
		r := wire.NewReader(client)
		var got []string
		for {
			h, payload, err := r.Next()
			if err != nil {
				break
			}
			got = append(got, fmt.Sprintf("%d:%d", h.Type, len(payload)))
		}
		ended := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, fmt.Sprint(wire.TypeEnded)) })
		want := map[int]int{0: 0, wire.HeaderSize + 3: 2, len(first): 1, len(first) + len(second): 2}[at]
		if len(got) != 3 || ended != want {
			t.Errorf("at %d: got %v", at, got)
		}
	}
}

// TestEndOfOutputIsLate: the ends of output go with the end of the process in one write, with more output, or by
// themselves if nothing else comes.
func TestEndOfOutputIsLate(t *testing.T) {
	ends := slices.Concat(wire.AppendData(nil, wire.TypeStdout, 1, nil), wire.AppendData(nil, wire.TypeStderr, 1, nil))
	text := wire.AppendData(nil, wire.TypeStderr, 1, []byte("text"))
	how := wire.Ended{Status: 7, Usage: &wire.Usage{User: 5}}
	told, err := wire.Append(nil, 0, &how)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		then func(c *clientConn, out *outlet) error
		want []byte // of one write
	}{
		"the end of the process": {func(c *clientConn, _ *outlet) error { c.tellEnded(how); return nil }, slices.Concat(ends, told)},
		"more output":            {func(_ *clientConn, out *outlet) error { _, err := out.Write(text); return err }, ends},
		"more ends":              {func(_ *clientConn, out *outlet) error { _, err := out.Write(ends); return err }, ends},
		"nothing":                {func(*clientConn, *outlet) error { return nil }, ends},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, master := net.Pipe()
			defer client.Close()
			c := new(clientConn)
			c.wantsEnded(true)
			out := newOutlet(master, true)
			gone := make(chan struct{})
			if n, err := out.Write(ends); n != len(ends) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
			var both sync.WaitGroup
			both.Go(func() { _ = c.sayEnded(out, gone, nil) }) // fails when the client leaves
			both.Go(func() { _ = test.then(c, out) })
			buf := make([]byte, 1000)
			n, err := client.Read(buf)
			if err != nil || !slices.Equal(buf[:n], test.want) {
				t.Errorf("%s: read %q, %v; want %q", name, buf[:n], err, test.want)
			}
			client.Close()
			close(gone)
			both.Wait()
		})
	}
}

// TestEndOfOutputAfterTheSession: when the session has ended, no end of output waits for the end of the process.
func TestEndOfOutputAfterTheSession(t *testing.T) {
	end := wire.AppendData(nil, wire.TypeStdout, 1, nil)
	client, master := net.Pipe()
	defer client.Close()
	c := new(clientConn)
	c.wantsEnded(true)
	out := newOutlet(master, true)
	over := make(chan struct{})
	close(over)
	if err := c.sayEnded(out, nil, over); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { _, err := out.Write(end); wrote <- err }()
	got := make([]byte, len(end))
	if _, err := io.ReadFull(client, got); err != nil || !slices.Equal(got, end) {
		t.Errorf("read %q, %v; want %q", got, err, end)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

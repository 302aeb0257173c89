package rights_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// pair returns the two ends of a connection, the second as a socket.
func pair(t *testing.T) (*rights.Conn, *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return conn(t, ends[0]), ends[1]
}

func conn(t *testing.T, end *net.UnixConn) *rights.Conn {
	t.Helper()
	c, err := rights.New(end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// file returns a descriptor of a file with a text.
func file(t *testing.T, text string) int {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return int(f.Fd())
}

func text(t *testing.T, fd int) string {
	t.Helper()
	b := make([]byte, 100)
	n, err := unix.Pread(fd, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// Frames with and without descriptors, small and larger than the socket's buffer, in succession.
func TestDescriptorsStayWithTheirFrame(t *testing.T) {
	reader, end := pair(t)
	writer := conn(t, end)
	big := bytes.Repeat([]byte("x"), 3<<20)
	frames := []struct {
		size  int
		texts []string
	}{{0, nil}, {len(big), []string{"a", "b", "c"}}, {10, nil}, {10, []string{"d"}}, {len(big), nil}, {0, []string{"e"}}}
	sent := make(chan error, 1)
	go func() {
		for i, f := range frames {
			var fds []int
			for _, s := range f.texts {
				fds = append(fds, file(t, s))
			}
			m := &wire.InitLaunch{Spawn: wire.Spawn{Command: wire.Command{Dir: string(big[:f.size])}}}
			if err := writer.Write(uint64(i), m, fds...); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i, f := range frames {
		m, number, fds, err := reader.Read()
		if err != nil {
			t.Fatal(err)
		}
		if number != uint64(i) || len(m.(*wire.InitLaunch).Spawn.Command.Dir) != f.size {
			t.Errorf("frame %d: number %d, size wrong or right: %d", i, number, f.size)
		}
		if len(fds) != len(f.texts) {
			t.Fatalf("frame %d: %d descriptors, want %d", i, len(fds), len(f.texts))
		}
		for j, fd := range fds {
			if got := text(t, fd); got != f.texts[j] {
				t.Errorf("frame %d: descriptor %d is %q, want %q", i, j, got, f.texts[j])
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("frame %d: descriptor %d is not close-on-exec (%v)", i, j, err)
			}
		}
		rights.Close(fds)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestTooManyDescriptors(t *testing.T) {
	reader, end := pair(t)
	frame, err := wire.Append(nil, 1, &wire.InitKillAll{})
	if err != nil {
		t.Fatal(err)
	}
	fd := file(t, "x")
	before := open(t)
	for i := range frame { // some with each byte
		if _, _, err := end.WriteMsgUnix(frame[i:i+1], unix.UnixRights(fd, fd, fd, fd), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := reader.Read(); !errors.Is(err, rights.ErrDescriptors) {
		t.Errorf("got %v, want %v", err, rights.ErrDescriptors)
	}
	if got := open(t); got != before {
		t.Errorf("%d descriptors open, were %d", got, before)
	}
	if err := reader.Write(1, &wire.InitKillAll{}, make([]int, rights.MaxDescriptors+1)...); !errors.Is(err, rights.ErrDescriptors) {
		t.Errorf("written: got %v, want %v", err, rights.ErrDescriptors)
	}
}

// TestShut reads frames that were written before Shut. Nothing can be written after it.
func TestShut(t *testing.T) {
	reader, end := pair(t)
	frame, err := wire.Append(nil, 1, &wire.InitKillAll{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := end.WriteMsgUnix(frame, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := reader.Shut(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := end.WriteMsgUnix(frame, nil, nil); !errors.Is(err, unix.EPIPE) {
		t.Errorf("the peer writes: got %v, want %v", err, unix.EPIPE)
	}
	if m, _, _, err := reader.Read(); err != nil || m.Type() != wire.TypeInitKillAll {
		t.Errorf("got %v, %v", m, err)
	}
	if _, _, _, err := reader.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if err := reader.Write(1, &wire.InitKillAll{}); !errors.Is(err, unix.EPIPE) {
		t.Errorf("written: got %v, want %v", err, unix.EPIPE)
	}
}

// open counts the descriptors of this process.
func open(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestEndOfConnection(t *testing.T) {
	for name, c := range map[string]struct {
		sent int
		want error
	}{
		"between frames": {0, io.EOF},
		"inside a frame": {5, io.ErrUnexpectedEOF},
	} {
		reader, end := pair(t)
		if _, err := end.Write(make([]byte, c.sent)); err != nil {
			t.Fatal(err)
		}
		end.Close()
		if _, _, _, err := reader.Read(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestPeerUID(t *testing.T) {
	c, _ := pair(t)
	if uid, err := c.PeerUID(); err != nil || uid != uint32(os.Geteuid()) {
		t.Errorf("got %d, %v, want %d", uid, err, os.Geteuid())
	}
}

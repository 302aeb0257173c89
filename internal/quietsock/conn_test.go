package quietsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
	"bproc/internal/quietsock"
)

// pair returns a connection and its other end.
func pair(t *testing.T) (*quietsock.Conn, *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	here, err := quietsock.New(accepted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here, there
}

func TestBytesGoBothWays(t *testing.T) {
	here, there := pair(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than fits into the socket's buffer
	for name, way := range map[string]struct {
		from io.Writer
		to   io.Reader
	}{"out": {here, there}, "in": {there, here}} {
		written := make(chan error, 1)
		go func() { _, err := way.from.Write(data); written <- err }()
		got := make([]byte, len(data))
		if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got other bytes, %v", name, err)
		}
		if err := <-written; err != nil {
			t.Errorf("%s: got %v from write", name, err)
		}
	}
}

// TestRoomIsNotReported tests the purpose of the package: a read by the other end does not make the
// descriptor ready that the runtime's poller watches.
func TestRoomIsNotReported(t *testing.T) {
	here, there := pair(t)
	outer, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(outer)
	if err := here.Watched(func(fd uintptr) error {
		return unix.EpollCtl(outer, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET})
	}); err != nil {
		t.Fatal(err)
	}
	ready := func() int {
		n, err := unix.EpollWait(outer, make([]unix.EpollEvent, 1), 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 3 {
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if n := ready(); n != 0 {
			t.Error("got an event after the other end has read")
		}
		if _, err := there.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if n := ready(); n != 1 {
			t.Error("got no event after the other end has written")
		}
		if _, err := here.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadWaits(t *testing.T) {
	here, there := pair(t)
	got := make(chan string, 1)
	go func() {
		var text []byte
		for len(text) < 2 { // the second wait follows the end of the first
			b := make([]byte, 8)
			n, err := here.Read(b)
			if err != nil {
				t.Error(err)
				break
			}
			text = append(text, b[:n]...)
		}
		got <- string(text)
	}()
	for _, b := range []string{"a", "b"} {
		time.Sleep(10 * time.Millisecond) // so that the reader is most likely waiting
		if _, err := there.Write([]byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	if text := <-got; text != "ab" {
		t.Errorf("got %q, want %q", text, "ab")
	}
	there.Close()
	if n, err := here.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v at the end, want 0, EOF", n, err)
	}
}

func TestDeadline(t *testing.T) {
	here, there := pair(t)
	if err := here.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := here.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := there.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := here.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("got %d, %v without a deadline, want 1", n, err)
	}
}

func TestCloseWakes(t *testing.T) {
	here, _ := pair(t)
	read, written := make(chan error, 1), make(chan error, 1)
	go func() { _, err := here.Read(make([]byte, 1)); read <- err }()
	go func() { _, err := here.Write(make([]byte, 16<<20)); written <- err }()
	for here.TryWrite([]byte{0}) > 0 { // until the writer waits for room, or is about to wait
	}
	if err := here.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: got %v, want %v", err, net.ErrClosed)
	}
	if err := <-written; !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: got %v, want %v", err, net.ErrClosed)
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after close: got %v, want %v", err, net.ErrClosed)
	}
	if _, err := here.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after close: got %v, want %v", err, net.ErrClosed)
	}
	if err := here.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second close: got %v, want %v", err, net.ErrClosed)
	}
}

func TestTryWriteDoesNotWait(t *testing.T) {
	here, there := pair(t)
	want := 0
	for n := -1; n != 0; want += n {
		n = here.TryWrite(make([]byte, 1<<16))
	}
	there.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := io.CopyN(io.Discard, there, int64(want)); err != nil {
		t.Errorf("got %d bytes, want %d: %v", n, want, err)
	}
}

func TestDescriptors(t *testing.T) {
	here, there := pair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if n, err := here.WriteMsg([]byte("ab"), unix.UnixRights(int(w.Fd()))); n != 2 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	oob := make([]byte, 64)
	n, oobn, _, _, err := there.ReadMsgUnix(make([]byte, 8), oob)
	if n != 2 || oobn == 0 || err != nil {
		t.Fatalf("got %d bytes and %d of control, %v", n, oobn, err)
	}
	if _, err := there.Write([]byte("c")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := there.WriteMsgUnix([]byte("d"), oob[:oobn], nil); err != nil {
		t.Fatal(err)
	}
	got := ""
	for oobn = 0; len(got) < 2; {
		b := make([]byte, 8)
		n, with, _, err := here.ReadMsg(b, oob)
		if err != nil {
			t.Fatal(err)
		}
		got, oobn = got+string(b[:n]), oobn+with
	}
	if got != "cd" || oobn == 0 {
		t.Errorf("got %q with %d bytes of control", got, oobn)
	}
}

func TestPeer(t *testing.T) {
	here, _ := pair(t)
	if who, err := peer.Of(here); err != nil || int(who.Pid) != os.Getpid() {
		t.Errorf("got %v, %v, want process %d", who, err, os.Getpid())
	}
}

func TestNothingIsLeft(t *testing.T) {
	before := descriptors(t)
	for range 10 {
		here, there := pair(t)
		here.Close()
		there.Close()
	}
	if after := descriptors(t); after > before {
		t.Errorf("got %d descriptors, want %d", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

package master

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestOutlet fills the connection of a client that does not read: a window of each
// output has room in it.
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
	out := &outlet{client: conn}
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

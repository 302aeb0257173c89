package peer_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
)

func TestOf(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	who, err := peer.Of(conn.(*net.UnixConn))
	if want := (unix.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}); err != nil || who != want {
		t.Errorf("got %+v, %v, want %+v", who, err, want)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if who, err := peer.Of(conn.(*net.UnixConn)); err == nil {
		t.Errorf("got %+v of a connection that is closed", who)
	}
}

package client

import (
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestSaidAtOnce: of what two goroutines have to say at a time nothing is left.
func TestSaidAtOnce(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, master := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "master")
	defer conn.Close()
	var heard sync.WaitGroup
	heard.Go(func() { _, _ = io.Copy(io.Discard, master) })
	defer heard.Wait()
	defer func() { _ = unix.Shutdown(fds[0], unix.SHUT_WR) }()
	s := newStream(new(Client), nil, conn, wire.Attach{}, [3]wire.Descriptor{})
	for round := range uint64(20_000) {
		var both sync.WaitGroup
		both.Go(func() { s.tell(0, round+1) })
		both.Go(func() { s.resize(Size(round)) })
		both.Wait()
		if s.owes() {
			t.Fatalf("round %d: something is left to say", round)
		}
	}
}

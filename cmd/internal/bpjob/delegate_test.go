package bpjob

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/job/door"
)

// TestPiped has unix sockets as standard descriptors, as a service has those of the journal.
func TestPiped(t *testing.T) {
	pair := func() (near, far *os.File) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		near, far = os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
		t.Cleanup(func() { near.Close(); far.Close() })
		return near, far
	}
	in, feed := pair()
	out, read := pair()
	with, wait, err := piped([3]*os.File{in, out, out})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range with {
		if door.IsUnixSocket(f) {
			t.Errorf("descriptor %d is a socket", i)
		}
	}
	text := strings.Repeat("x", 100<<10)
	go func() {
		_, _ = io.WriteString(feed, "input") // the end of the test says more
		feed.Close()
	}()
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(read) // a part of the text says more
		got <- string(b)
	}()
	if b, err := io.ReadAll(with[0]); err != nil || string(b) != "input" {
		t.Errorf("input: got %q, %v", b, err)
	}
	for i, text := range []string{"1", "2", text} {
		if _, err := io.WriteString(with[1+i%2], text); err != nil {
			t.Error(err)
		}
	}
	wait()
	out.Close() // what comes later is lost
	if got := <-got; got != "12"+text {
		t.Errorf("output: got %d bytes, want %d", len(got), len(text)+2)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	plain := [3]*os.File{null, null, null}
	if with, wait, err := piped(plain); err != nil || with != plain {
		t.Errorf("got %v, %v", with, err)
	} else {
		wait()
	}
}

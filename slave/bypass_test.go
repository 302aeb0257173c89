package slave

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/journal"
	"bproc/slave/stdio"
	"bproc/wire"
	"bproc/wire/bypass"
)

// bypassEnds returns the ends of a bypass, that of a node and that of a client.
func bypassEnds(t *testing.T) (near, far *bypass.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := bytes.Repeat([]byte{1}, wire.BypassKey)
	var ends [2]*bypass.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		t.Cleanup(func() { f.Close() })
		if ends[i], err = bypass.New(f, key, key); err != nil {
			t.Fatal(err)
		}
	}
	return ends[0], ends[1]
}

// TestFirstOnBypassIsSmall has a client announce a large frame where it is to say Resume: the node keeps nothing of it.
func TestFirstOnBypassIsSmall(t *testing.T) {
	near, far := bypassEnds(t)
	over := make(chan error, 1)
	go func() { over <- new(node).serveBypass(near, &wire.OpenBypass{PID: 1}, func() {}) }()
	var header [wire.HeaderSize]byte
	wire.Header{Type: wire.TypeSpawn, Length: wire.MaxCommand}.Put(header[:])
	if _, err := far.Write(header[:]); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-over:
		if !errors.Is(err, wire.ErrFrame) {
			t.Errorf("got %v, want %v", err, wire.ErrFrame)
		}
	case <-time.After(firstOnBypass / 2):
		t.Error("the node waits for the rest of the frame")
	}
}

// TestOneBypassIsMade makes a bypass of a process, which gets no other meanwhile.
func TestOneBypassIsMade(t *testing.T) {
	n := new(node)
	j, err := journal.Create(nil)
	if err != nil {
		t.Fatal(err)
	}
	n.stdios.Journal, n.stdios.Stamp = j, func() uint64 { return 1 }
	n.stdios.Keep, n.stdios.Drop = func(string, ...*os.File) error { return nil }, func(string) {}
	t.Cleanup(func() {
		n.stdios.Close()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	spawn := &wire.Spawn{PID: 4711, Launch: 1, UID: 1000}
	for fd := range spawn.Command.Stdio {
		spawn.Command.Stdio[fd].Mode = wire.DescriptorStream
	}
	d, err := n.stdios.Make(spawn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.CloseFar)
	n.stdios.Enter(d)
	d.Run()
	stream, _ := bypassEnds(t)
	if err := d.Attach(stdio.NewClient(stream), [2]uint64{}, func(uint64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	m := &wire.OpenBypass{PID: 4711, Launch: 1, UID: 1000}
	made, err := n.makeBypass(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.makeBypass(m); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("another one: got %v, want %v", err, unix.EAGAIN)
	}
	near, far := bypassEnds(t)
	attached := make(chan struct{})
	served := make(chan error, 1)
	go func() { served <- n.serveBypass(near, m, func() { made(); close(attached) }) }()
	if err := wire.Write(far, 0, &wire.Resume{PID: 4711}); err != nil {
		t.Fatal(err)
	}
	<-attached
	far.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

package pid1

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// connections returns the two ends of a connection.
func connections(t *testing.T) (here, there *rights.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*rights.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if ends[i], err = rights.New(c.(*net.UnixConn)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends[0], ends[1]
}

// entered returns an order with a daemon, and both ends of the connection.
func entered(t *testing.T) (o *order, init, daemon *rights.Conn) {
	t.Helper()
	o = new(order)
	o.init()
	init, daemon = connections(t)
	if err := o.enter(init, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	return o, init, daemon
}

// A write to a daemon that has died fails, maybe before all its requests are read. They are read
// all the same.
func TestDaemonThatCannotBeToldIsReadToItsEnd(t *testing.T) {
	o, init, daemon := entered(t)
	if err := daemon.Write(1, &wire.InitDrop{Name: "something"}); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Close(); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	told := o.replyLocked(init, 0, &wire.InitStatus{PID: 70001})
	o.mu.Unlock()
	if told || o.conn != nil {
		t.Errorf("told: %t; connection %v: want that the daemon is lost", told, o.conn)
	}
	if m, number, _, err := init.Read(); err != nil || number != 1 || m.Type() != wire.TypeInitDrop {
		t.Errorf("its request: got %v, number %d, %v", m, number, err)
	}
	if _, _, _, err := init.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("then: got %v, want %v", err, io.EOF)
	}
}

// TestReportedIsNotExpected checks that no daemon can come between the report of a status and its removal from
// the queue. It would be told to expect the end of a process, which may be forgotten by then.
func TestReportedIsNotExpected(t *testing.T) {
	o, _, daemon := entered(t)
	called := false
	told := o.status(status{pid: 70001, waited: waited{is: failure}, launched: true}, func() {
		if called = true; o.mu.TryLock() {
			t.Error("another daemon can come before the status is dropped")
			o.mu.Unlock()
		}
	})
	if m, _, _, err := daemon.Read(); !told || !called || err != nil || m.Type() != wire.TypeInitStatus {
		t.Errorf("told %t, called %t, got %v, %v", told, called, m, err)
	}
}

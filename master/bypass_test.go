package master

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
	"bproc/wire/link"
)

// end returns the end of a bypass, and a function that says whether it has been closed.
func end(t *testing.T) (link.BypassEnd, func() bool) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[1]) })
	closed := func() bool {
		n, err := unix.Read(fds[1], make([]byte, 1))
		return n == 0 && err == nil
	}
	return link.BypassEnd{Socket: os.NewFile(uintptr(fds[0]), "end")}, closed
}

// TestBypassTokens: a token is good once, for the node that was asked, while the client waits.
func TestBypassTokens(t *testing.T) {
	var b bypasses
	token, w, forget := b.expect("a")
	if b.take("b", token) != nil {
		t.Error("another node gets the client")
	}
	if b.take("a", append([]byte{1}, token...)) != nil {
		t.Error("another token gets the client")
	}
	give := b.take("a", token)
	if give == nil {
		t.Fatal("the node does not get the client")
	}
	if b.take("a", token) != nil {
		t.Error("the node gets the client twice")
	}
	e, closed := end(t)
	give(e)
	if got := <-w.came; got.Socket != e.Socket {
		t.Errorf("got %v", got)
	}
	forget()
	if closed() {
		t.Error("the client's end was closed")
	}
	e.Socket.Close()
}

// TestBypassThatComesLate closes what comes when the client does not wait any more.
func TestBypassThatComesLate(t *testing.T) {
	var b bypasses
	token, _, forget := b.expect("a")
	give := b.take("a", token)
	e, closed := end(t)
	give(e)
	forget()
	if !closed() {
		t.Error("the end that nobody takes is open")
	}
	token, _, forget = b.expect("a")
	give = b.take("a", token)
	forget()
	e, closed = end(t)
	if give(e); !closed() {
		t.Error("the end that comes after the client has gone is open")
	}
	token, _, forget = b.expect("a")
	forget()
	if b.take("a", token) != nil {
		t.Error("a client that has gone is waiting")
	}
}

// TestBypassOfOneWhoLeaves: a client that leaves while its node does not connect is not waited for.
func TestBypassOfOneWhoLeaves(t *testing.T) {
	answer, err := wire.Append(nil, 0, new(wire.Resumed))
	if err != nil {
		t.Fatal(err)
	}
	request, err := wire.Append(nil, 7, &wire.Bypass{Version: wire.Version, Node: 3, PID: 60})
	if err != nil {
		t.Fatal(err)
	}
	a, begin := newAsked(t, answer), time.Now()
	a.serve(core.Caller{PID: 100, UID: 1000, GID: 1000}, nil, request)
	if took := time.Since(begin); took >= bypassTime {
		t.Errorf("the client is waited for %v", took)
	}
	a.free()
}

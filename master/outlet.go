package master

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// outlet writes to a client. Once a process writes much, everything that can be on its way fits
// into the connection: otherwise the two ends wake each other up for a quarter of the usual buffer
// at a time (unix_writable of net/unix/af_unix.c).
type outlet struct {
	client  stream
	wide    bool
	reports bool // end may be called

	mu    sync.Mutex // guards the fields below; with reports it is also held during writes
	walk  frameWalk
	ended *wire.Ended // to be written after the present frame
	told  bool        // it has been written
}

func (o *outlet) Write(b []byte) (int, error) {
	if len(b) > smallBuffer && !o.wide {
		o.wide = true
		widen(o.client)
	}
	if !o.reports {
		return o.client.Write(b)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.client.Write(b)
	if err != nil {
		return n, err
	}
	if err := o.walk.over(b); err != nil {
		return n, err
	}
	return n, o.endLocked()
}

// end tells the client how its process has ended, between two frames.
func (o *outlet) end(how *wire.Ended) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = how
	return o.endLocked()
}

func (o *outlet) endLocked() error {
	if o.ended == nil || o.walk.left > 0 || o.walk.have > 0 {
		return nil
	}
	how := o.ended
	o.ended = nil
	err := wire.Write(o.client, 0, how)
	o.told = err == nil
	return err
}

// toldEnd reports whether the client has been told how its process has ended.
func (o *outlet) toldEnd() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told
}

// widen makes room for the windows of both outputs (socket(7): SO_SNDBUFFORCE is not bound by
// net.core.wmem_max, and needs CAP_NET_ADMIN). If that fails, the buffer stays as it is. A client
// on a node has a stream of its link, which has windows of its own.
func widen(client stream) {
	conn, ok := client.(*net.UnixConn)
	if !ok {
		return
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 2*wire.Window)
	})
}

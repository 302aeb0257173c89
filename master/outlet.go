package master

import (
	"net"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// outlet writes to a client. Once a process says much, all that can be on its way fits
// into the connection: else the two ends wake each other up for a quarter of the usual
// buffer at a time (unix_writable of net/unix/af_unix.c).
type outlet struct {
	client stream
	wide   bool
}

func (o *outlet) Write(b []byte) (int, error) {
	if len(b) > smallBuffer && !o.wide {
		o.wide = true
		widen(o.client)
	}
	return o.client.Write(b)
}

// widen makes room for the windows of both outputs (socket(7): SO_SNDBUFFORCE is not
// bound by net.core.wmem_max, and needs CAP_NET_ADMIN). Without it all is as before. A
// client on a node has a stream of its link, which has windows of its own.
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

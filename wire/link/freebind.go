package link

import (
	"context"
	"net"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenAhead listens on an address that this machine may not have yet: a master starts before the
// network is up (ip(7), IP_FREEBIND).
func listenAhead(addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(network, _ string, conn syscall.RawConn) error {
		level, option := unix.IPPROTO_IP, unix.IP_FREEBIND
		if strings.HasSuffix(network, "6") {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_FREEBIND
		}
		var optErr error
		if err := conn.Control(func(fd uintptr) { optErr = unix.SetsockoptInt(int(fd), level, option, 1) }); err != nil {
			return err
		}
		return optErr
	}}
	return config.Listen(context.Background(), "tcp", addr) //nolint:forbidigo // binds at once: there is nothing to cancel
}

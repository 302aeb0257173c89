// Package peer identifies the peer of a unix socket, as the kernel knows it.
package peer

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of returns the process that connected or listens, with its effective user and group at that time
// (unix(7), SO_PEERCRED).
func Of(conn syscall.Conn) (who unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return who, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return who, fmt.Errorf("credentials of a peer: %w", err)
	}
	return *cred, nil
}

package master

import (
	"errors"
	"fmt"
	"net"

	"bproc/internal/peer"
	"bproc/master/core"
	"bproc/wire"
)

// peerOf returns the process at the other end of a connection.
func peerOf(conn *net.UnixConn) (core.Caller, error) {
	cred, err := peer.Of(conn)
	if err != nil {
		return core.Caller{}, fmt.Errorf("credentials of a client: %w", err)
	}
	who := core.Caller{PID: wire.PID(cred.Pid), UID: cred.Uid, GID: cred.Gid}
	raw, err := conn.SyscallConn()
	if err != nil {
		return core.Caller{}, err
	}
	var opErr error
	err = raw.Control(func(fd uintptr) { who.Groups, opErr = peerGroups(int(fd)) })
	if err := errors.Join(err, opErr); err != nil {
		return core.Caller{}, fmt.Errorf("credentials of a client: %w", err)
	}
	return who, nil
}

package client

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// receiveRights receives a message into text, with at most so many descriptors (unix(7), SCM_RIGHTS). The kernel leaves
// out those for which this process has no room.
func receiveRights(conn *os.File, text []byte, most int) (n int, fds []int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	rights, size := make([]byte, unix.CmsgSpace(4*most)), 0
	waitErr := raw.Read(func(fd uintptr) bool {
		n, size, _, _, err = unix.Recvmsg(int(fd), text, rights, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	if err := errors.Join(waitErr, err); err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) == 0 {
		return n, nil, err
	}
	fds, err = unix.ParseUnixRights(&messages[0])
	return n, fds, err
}

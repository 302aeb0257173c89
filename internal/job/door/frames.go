package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Socket is the socket of the service.
const Socket = "/run/bproc/jobs.sock"

// maxPacket bounds a packet.
const maxPacket = 64 << 10

// Request asks for a command.
type Request struct {
	Args []string // of the command
	Root string   // directory of the user's jobs
	Term string   // TERM of the user's terminal
}

// Answer is the result of the command.
type Answer struct {
	Code  int
	Error string // why the command did not run; "" if it did
}

var errTooLong = errors.New("the packet is too long")

// descriptors is the number of descriptors in a request: standard input, output and error.
const descriptors = 3

// send sends a packet with files.
func send(conn *net.UnixConn, what any, files ...*os.File) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if len(text) > maxPacket {
		return fmt.Errorf("a request of %d bytes is too long", len(text))
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	_, _, err = conn.WriteMsgUnix(text, oob, nil)
	return err
}

// receive reads a packet and its files. It returns io.EOF if the peer has closed the connection.
func receive(conn *net.UnixConn, into any) (files []*os.File, err error) {
	text, oob := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*descriptors))
	n, oobn, flags, _, err := conn.ReadMsgUnix(text, oob)
	if err == nil && oobn > 0 {
		files, err = rights(oob[:oobn])
	}
	if err == nil {
		err = parse(text[:n], flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) == 0, into)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

// receiveText reads a packet. Files that come with it are never this process's.
func receiveText(conn *net.UnixConn, into any) error {
	text := make([]byte, maxPacket)
	n, _, flags, _, err := conn.ReadMsgUnix(text, nil)
	if err != nil {
		return err
	}
	return parse(text[:n], flags&unix.MSG_TRUNC == 0, into)
}

// parse parses a packet. An empty one says that the peer has closed the connection.
func parse(text []byte, whole bool, into any) error {
	switch {
	case len(text) == 0:
		return io.EOF
	case !whole:
		return errTooLong
	}
	return json.Unmarshal(text, into)
}

// peek is receiveText for a packet that stays.
func peek(conn *net.UnixConn, into any) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	text, n := make([]byte, maxPacket), 0
	waitErr := raw.Read(func(fd uintptr) bool {
		n, _, err = unix.Recvfrom(int(fd), text, unix.MSG_PEEK|unix.MSG_TRUNC)
		return !errors.Is(err, unix.EAGAIN)
	})
	if waitErr != nil {
		err = waitErr
	}
	if err == nil {
		err = parse(text[:min(n, len(text))], n <= len(text), into)
	}
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

// rights returns the files of a control message.
func rights(oob []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // not SCM_RIGHTS
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "descriptor of a user"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

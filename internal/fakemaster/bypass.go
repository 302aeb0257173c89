package fakemaster

import (
	"bytes"
	"net"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// Bypassed answers a client that asks for a bypass, and returns the node's end; nil: the test has failed. The client
// waits for a record from there.
func (c *Conn) Bypassed() *bypass.Conn {
	node, client, err := connect()
	if err != nil {
		c.t.Errorf("connection for a bypass: %v", err)
		return nil
	}
	defer client.Close()
	toNode, toClient := bytes.Repeat([]byte{1}, wire.BypassKey), bytes.Repeat([]byte{2}, wire.BypassKey)
	err = c.hand(client, &wire.Bypassed{ToNode: toNode, ToClient: toClient})
	var b *bypass.Conn
	if err == nil {
		b, err = bypass.New(node, toNode, toClient)
	}
	if err != nil {
		node.Close()
		c.t.Errorf("bypass: %v", err)
		return nil
	}
	return b
}

// connect returns both ends of a connection of TCP.
func connect() (node, client *net.TCPConn, err error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if node, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	if client, err = l.AcceptTCP(); err != nil {
		node.Close()
		return nil, nil, err
	}
	return node, client, nil
}

// hand sends a message with a descriptor of a connection.
func (c *Conn) hand(file *net.TCPConn, m wire.Message) error {
	frame, err := wire.Append(nil, 0, m)
	if err != nil {
		return err
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) {
		_, _, sent = c.conn.WriteMsgUnix(frame, unix.UnixRights(int(fd)), nil)
	})
	if err != nil {
		return err
	}
	return sent
}

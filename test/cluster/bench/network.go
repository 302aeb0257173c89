package main

import (
	"context"
	"errors"
	"io"
	"net"

	"bproc/test/cluster"
)

// connect returns both ends of a TCP connection from one machine to another.
func connect(ctx context.Context, from, to *cluster.Machine) (near, far net.Conn, err error) {
	l, err := to.Listen(ctx, "tcp", to.Addr.String()+":0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	near, err = from.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	if far, err = l.Accept(); err != nil {
		near.Close()
		return nil, nil, err
	}
	return near, far, nil
}

// bounce sends back each byte until the other end closes.
func bounce(conn net.Conn) error {
	one := make([]byte, 1)
	for {
		if _, err := conn.Read(one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := conn.Write(one); err != nil {
			return err
		}
	}
}

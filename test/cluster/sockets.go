package cluster

import (
	"context"
	"net"
)

// Listen returns a listener on the machine's network. A socket belongs to the network namespace of
// the thread that makes it.
func (m *Machine) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	r, err := m.current()
	if err != nil {
		return nil, err
	}
	var l net.Listener
	err = r.do(func() (err error) {
		l, err = new(net.ListenConfig).Listen(ctx, network, address)
		return err
	})
	return l, err
}

// Do runs f on a thread in the machine's namespaces: sockets that it makes belong to the machine.
func (m *Machine) Do(f func() error) error {
	r, err := m.current()
	if err != nil {
		return err
	}
	return r.do(f)
}

// Dial connects from the machine. The address may not have host names.
func (m *Machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	r, err := m.current()
	if err != nil {
		return nil, err
	}
	var c net.Conn
	err = r.do(func() (err error) {
		c, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

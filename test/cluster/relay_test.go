package cluster_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"bproc/test/cluster"
)

// relayFrom returns an address whose connections go on to another one from the network of a machine,
// until the test ends. A thread of that network makes them, so whoever uses the address may connect
// again whenever it likes, on any thread.
func relayFrom(t *testing.T, m *cluster.Machine, to string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(t, m, conn, to) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		relays.Wait()
	})
	return listener.Addr().String()
}

// relay carries all bytes of a connection on, until either side closes.
func relay(t *testing.T, m *cluster.Machine, conn net.Conn, to string) {
	defer conn.Close()
	onward, err := m.Dial(t.Context(), "tcp", to)
	if err != nil {
		return // as if the other side refused
	}
	defer onward.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, onward)
		conn.Close()
	})
	_, _ = io.Copy(onward, conn)
	onward.Close()
	back.Wait()
}

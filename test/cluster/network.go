package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// The private network of a cluster. All clusters have these same addresses.
var (
	frontAddr = netip.MustParseAddr("10.77.0.1")
	nodeAddrs = netip.MustParsePrefix("10.77.1.0/16") // node i is the (i+1)th after it
)

// nodeAddr returns the address of node i.
func nodeAddr(i int) netip.Addr {
	a := nodeAddrs.Addr().As4()
	host := i + 1
	a[2] += byte(host >> 8)
	a[3] = byte(host)
	return netip.AddrFrom4(a)
}

// network is the switch that joins the machines of a cluster: a bridge in a network namespace
// without processes. It ends with its descriptor.
type network struct {
	ns int

	mu     sync.Mutex // guards handle, which is one socket
	handle *netlink.Handle
	bridge netlink.Link
}

func newNetwork() (*network, error) {
	ns, err := newNetNS()
	if err != nil {
		return nil, fmt.Errorf("make the network: %w", err)
	}
	n := &network{ns: ns}
	if n.handle, err = handleAt(ns); err != nil {
		n.close()
		return nil, fmt.Errorf("make the network: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "switch"
	n.bridge = &netlink.Bridge{LinkAttrs: attrs}
	if err := errors.Join(n.handle.LinkAdd(n.bridge), n.handle.LinkSetUp(n.bridge)); err != nil {
		n.close()
		return nil, fmt.Errorf("make the bridge: %w", err)
	}
	return n, nil
}

// newNetNS returns a new network namespace.
func newNetNS() (int, error) {
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	ownthread.Go(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- result{-1, fmt.Errorf("unshare: %w", err)}
			return
		}
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		done <- result{fd, err}
	})
	r := <-done
	return r.fd, r.err
}

// attach connects a machine whose network namespace is ns to port name.
func (n *network) attach(name string, ns int, addr netip.Addr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns)}
	if err := n.handle.LinkAdd(veth); err != nil {
		return fmt.Errorf("make veth pair: %w", err)
	}
	port, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	if err := errors.Join(n.handle.LinkSetMaster(port, n.bridge), n.handle.LinkSetUp(port)); err != nil {
		return fmt.Errorf("connect port: %w", err)
	}
	inside, err := handleAt(ns)
	if err != nil {
		return err
	}
	defer inside.Close()
	lo, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	eth, err := inside.LinkByName("eth0")
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{
		IP: addr.AsSlice(), Mask: net.CIDRMask(nodeAddrs.Bits(), addr.BitLen()),
	}}
	return errors.Join(inside.LinkSetUp(lo), inside.AddrAdd(eth, address), inside.LinkSetUp(eth))
}

// setPort disconnects port name, or connects it again.
func (n *network) setPort(name string, up bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	port, err := n.handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("port %s: %w", name, err)
	}
	if up {
		return n.handle.LinkSetUp(port)
	}
	return n.handle.LinkSetDown(port)
}

// detach removes port name, and with it the machine's end.
func (n *network) detach(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if port, err := n.handle.LinkByName(name); err == nil {
		_ = n.handle.LinkDel(port) // the kernel does the same when the machine's namespace ends
	}
}

func (n *network) close() {
	if n.handle != nil {
		n.handle.Close()
	}
	unix.Close(n.ns)
}

package cluster

import (
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// handleAt returns a netlink handle for the network namespace ns.
func handleAt(ns int) (*netlink.Handle, error) {
	return netlink.NewHandleAt(netns.NsHandle(ns), unix.NETLINK_ROUTE)
}

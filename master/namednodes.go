package master

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"bproc/nodeset"
	"bproc/pidmap"
	"bproc/wire"
)

// NodeConfig is a node that has its number before it joins.
type NodeConfig struct {
	ID   wire.NodeID
	Name string // name under which it joins; empty: any
	Addr string // address from which it joins; empty: any
}

// node names a node, or each node of a range.
func (c *Config) node(args []string) error {
	if !isNodeName(args[1]) {
		return fmt.Errorf("%q is not the name of a node", args[1])
	}
	low, high, isRange := strings.Cut(args[0], "-")
	if !isRange || low == "" {
		n, err := number(args[0], 0, maxNode)
		if err != nil {
			return err
		}
		return c.addNode(NodeConfig{ID: wire.NodeID(n), Name: args[1]})
	}
	first, err := number(low, 0, maxNode)
	if err != nil {
		return err
	}
	last, err := number(high, first, min(first+maxRange-1, maxNode))
	switch {
	case err != nil:
		return err
	case !strings.Contains(args[1], "%n"):
		return fmt.Errorf("%q is one name for many nodes: it needs %%n, which becomes the number", args[1])
	}
	for n := first; n <= last; n++ {
		name := strings.ReplaceAll(args[1], "%n", strconv.Itoa(n))
		if err := c.addNode(NodeConfig{ID: wire.NodeID(n), Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// maxName bounds the name of a node, in bytes.
const maxName = 255

// isNodeName reports whether a node can have a name: it can stand in a list, and does nothing to a
// terminal.
func isNodeName(name string) bool {
	return len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || strings.ContainsRune(" :,/", r)
	})
}

// maxRange bounds a range of nodes.
const maxRange = pidmap.MaxNodes

// addresses gives addresses to nodes with consecutive numbers, from a given number on or after the
// last one.
func (c *Config) addresses(args []string) error {
	args, err := c.from(args, 1)
	if err != nil {
		return err
	}
	for _, text := range args {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("%q is not an address", text)
		}
		if err := c.addAddr(addr); err != nil {
			return err
		}
	}
	return nil
}

// addressRange does the same for a range of addresses.
func (c *Config) addressRange(args []string) error {
	args, err := c.from(args, 2)
	if err != nil {
		return err
	}
	var ends [2]netip.Addr
	for i, text := range args {
		if ends[i], err = netip.ParseAddr(text); err != nil {
			return fmt.Errorf("%q is not an address", text)
		}
	}
	if ends[1].Less(ends[0]) || ends[0].Is4() != ends[1].Is4() {
		return fmt.Errorf("%v does not come after %v", ends[1], ends[0])
	}
	for addr, count := ends[0], 0; !ends[1].Less(addr) && addr.IsValid(); addr, count = addr.Next(), count+1 {
		if count == maxRange {
			return fmt.Errorf("there are more than %d addresses from %v to %v", maxRange, ends[0], ends[1])
		}
		if err := c.addAddr(addr); err != nil {
			return err
		}
	}
	return nil
}

// from removes a number at the beginning of the operands, if there is one, and returns the rest,
// which must have at least so many.
func (c *Config) from(args []string, least int) ([]string, error) {
	if _, err := strconv.Atoi(args[0]); err == nil {
		n, err := number(args[0], 0, maxNode)
		if err != nil {
			return nil, err
		}
		c.next, args = wire.NodeID(n), args[1:]
	}
	if len(args) < least {
		return nil, errors.New("an address is missing")
	}
	return args, nil
}

func (c *Config) addAddr(addr netip.Addr) error {
	if c.next > maxNode {
		return fmt.Errorf("node numbers end at %d", maxNode)
	}
	err := c.addNode(NodeConfig{ID: c.next, Addr: addr.Unmap().String()})
	c.next++
	return err
}

// addNode enters a node. One directive can give it a name, and another an address.
func (c *Config) addNode(n NodeConfig) error {
	if n.Name != "" && !nodeset.IsNameOf(n.Name, n.ID) {
		return fmt.Errorf("node %d cannot be called %s: commands take that for something else", n.ID, n.Name)
	}
	for i := range c.Nodes {
		switch have := &c.Nodes[i]; {
		case n.Name != "" && have.Name == n.Name, n.Addr != "" && have.Addr == n.Addr,
			have.ID == n.ID && (have.Name != "" && n.Name != "" || have.Addr != "" && n.Addr != ""):
			return fmt.Errorf("node %d %s: number, name or address is given twice", n.ID, n.Name+n.Addr)
		case have.ID == n.ID:
			have.Name, have.Addr = have.Name+n.Name, have.Addr+n.Addr
			return nil
		}
	}
	c.Nodes = append(c.Nodes, n)
	return nil
}

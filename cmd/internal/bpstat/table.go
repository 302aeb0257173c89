package bpstat

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"bproc/internal/client"
	"bproc/nodeset"
)

// sort puts the nodes into the order that the options ask for.
func (o *options) sort(nodes []client.Node) {
	switch {
	case o.keep:
	case o.byStatus:
		slices.SortStableFunc(nodes, func(a, b client.Node) int {
			return cmp.Or(strings.Compare(a.State, b.State), cmp.Compare(a.ID, b.ID))
		})
	default:
		slices.SortStableFunc(nodes, func(a, b client.Node) int { return cmp.Compare(a.ID, b.ID) })
	}
	if o.reverse {
		slices.Reverse(nodes)
	}
}

// column prints one value for each node.
func column(out io.Writer, nodes []client.Node, value func(*client.Node) any) {
	for i := range nodes {
		fmt.Fprintln(out, value(&nodes[i]))
	}
}

// host returns the address of a node without its port; a node that is down has
// none.
func host(n *client.Node) string {
	if n.Addr == "" {
		return "-"
	}
	if addr, err := netip.ParseAddrPort(n.Addr); err == nil {
		return addr.Addr().Unmap().String()
	}
	return n.Addr
}

// printLong prints a line for each node, in the columns of the original.
func (s *Stat) printLong(out io.Writer, nodes []client.Node) {
	const format = "%4s %-15s %-12s %s\t%-10.10s %-10.10s %s\n"
	fmt.Fprintf(out, format, "Node", "Address", "Status", "Mode      ", "User", "Group", "Trust")
	for i := range nodes {
		n := &nodes[i]
		fmt.Fprintf(out, format, n.ID, host(n), n.State, mode(n.Mode), s.Names.User(n.UID), s.Names.Group(n.GID), cmp.Or(n.Trust, "-"))
	}
}

// config is what nodes on one line of the compact form have in common.
type config struct {
	state    string
	mode     uint32
	uid, gid uint32
}

func configOf(n *client.Node) config { return config{n.State, n.Mode, n.UID, n.GID} }

// line is one line of the compact form.
type line struct {
	config config
	ids    []client.NodeID
}

// compact puts nodes that are alike on one line: all of them, or only those that
// follow one another.
func compact(nodes []client.Node, all bool) []line {
	var lines []line
	for i := range nodes {
		c := configOf(&nodes[i])
		at := len(lines) - 1
		if all {
			at = slices.IndexFunc(lines, func(l line) bool { return l.config == c })
		}
		if at < 0 || lines[at].config != c {
			lines = append(lines, line{config: c})
			at = len(lines) - 1
		}
		lines[at].ids = append(lines[at].ids, nodes[i].ID)
	}
	return lines
}

// otherColumns is the width of all columns of the compact form but the first.
const otherColumns = 15 + 10 + 8 + 8 + 9

func (s *Stat) printCompact(out io.Writer, nodes []client.Node, all bool) {
	width := max(s.Width-otherColumns, len("Node(s)"))
	fmt.Fprintf(out, "%-*s %-15s %-10s %-8s %s\n", width, "Node(s)", "Status", "Mode", "User", "Group")
	for _, l := range compact(nodes, all) {
		fmt.Fprintf(out, "%-*s %-15s %-10s %-8s %s\n", width, nodeset.Format(l.ids), l.config.state,
			mode(l.config.mode), s.Names.User(l.config.uid), s.Names.Group(l.config.gid))
	}
}

// mode writes permission bits as ls does. Only those for execution mean
// something.
func mode(bits uint32) string {
	text := []byte("---x--x--x")
	for i, at := range []int{3, 6, 9} {
		if bits&(0o100>>(3*i)) == 0 {
			text[at] = '-'
		}
	}
	return string(text)
}

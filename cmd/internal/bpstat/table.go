package bpstat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"bproc/internal/client"
	"bproc/nodeset"
)

// sort sorts the nodes as the options ask for.
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

// host returns the address of a node without its port, or "-" if the node is down.
func host(n *client.Node) string {
	if n.Addr == "" {
		return "-"
	}
	if addr, err := netip.ParseAddrPort(n.Addr); err == nil {
		return addr.Addr().Unmap().String()
	}
	return n.Addr
}

// printHost prints the number of the node with a given name or address.
func (s *Stat) printHost(ctx context.Context, out io.Writer, o *options) error {
	table, err := s.Client.Nodes(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(table, func(n client.Node) bool { return n.Name == o.host || n.Addr != "" && host(&n) == o.host })
	switch {
	case i < 0:
		return fmt.Errorf("no node has the name or address %s", o.host)
	case o.json:
		return encode(out, o, table[i].ID)
	}
	fmt.Fprintln(out, table[i].ID)
	return nil
}

// printLong prints a line for each node: the columns of the original, then the trust, and the
// reason for the state if there is one.
func (s *Stat) printLong(out io.Writer, o *options, nodes []client.Node) {
	line := func(id any, columns ...any) {
		text := fmt.Sprintf("%4s %-15s %s %s\t%-10.10s %-10.10s %-7s %s", append([]any{id}, columns...)...)
		fmt.Fprintln(out, strings.TrimRight(text, " "))
	}
	line("Node", "Address", "Status      ", "Mode      ", "User", "Group", "Trust", "Reason")
	for i := range nodes {
		n := &nodes[i]
		line(n.ID, host(n), s.state(o, n.State, 12), mode(n.Mode), s.Names.User(n.UID), s.Names.Group(n.GID), cmp.Or(n.Trust, "-"), n.Reason)
	}
}

// config is the common part of the nodes on one line of the compact form.
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

// compact puts equal nodes on one line: all of them, or only consecutive ones.
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

// Widths of the compact form: of all columns but the first, the least of the first column, and of a
// line without a terminal.
const (
	otherColumns = 15 + 10 + 8 + 8 + 9
	leastColumn  = 12
	usualWidth   = 80
)

// printCompact prints the compact form. On a terminal, a node list that does not fit into its
// column is continued below. Elsewhere each group of nodes has one line.
func (s *Stat) printCompact(out io.Writer, o *options, nodes []client.Node) {
	width := usualWidth
	if s.Screen != nil {
		width, _ = s.Screen()
	}
	width = max(width-otherColumns, leastColumn)
	fmt.Fprintf(out, "%-*s %-15s %-10s %-8s %s\n", width, "Node(s)", "Status", "Mode", "User", "Group")
	for _, l := range compact(nodes, !o.byNumber && !o.keep) {
		list := []string{nodeset.Format(l.ids)}
		if s.Screen != nil {
			list = broken(list[0], width)
		}
		fmt.Fprintf(out, "%-*s %s %-10s %-8s %s\n", width, list[0], s.state(o, l.config.state, 15),
			mode(l.config.mode), s.Names.User(l.config.uid), s.Names.Group(l.config.gid))
		for _, more := range list[1:] {
			fmt.Fprintln(out, more)
		}
	}
}

// broken breaks a list into lines, after commas.
func broken(list string, width int) (lines []string) {
	for len(list) > width {
		at := strings.LastIndexByte(list[:width], ',') + 1
		if at == 0 {
			if at = strings.IndexByte(list, ',') + 1; at == 0 {
				break
			}
		}
		lines, list = append(lines, list[:at]), list[at:]
	}
	return append(lines, list)
}

// mode formats permission bits as ls(1) does. Only the execute bits have a meaning.
func mode(bits uint32) string {
	text := []byte("---x--x--x")
	for i, at := range []int{3, 6, 9} {
		if bits&(0o100>>(3*i)) == 0 {
			text[at] = '-'
		}
	}
	return string(text)
}

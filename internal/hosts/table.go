package hosts

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bproc/wire"
)

// FrontEnd is the node number for the front end.
const FrontEnd wire.NodeID = -1

// Table has the addresses of the names, as seen from one machine.
type Table struct {
	Self   wire.NodeID            // the machine: a node, or the front end
	Master string                 // address of the front end
	Nodes  map[wire.NodeID]string // addresses of nodes
}

// The lines that enclose the lines of the cluster in a file.
const (
	begin = "# bproc: begin"
	end   = "# bproc: end"
)

// maxText bounds the text with the addresses of all nodes.
const maxText = 1 << 20

// Pack returns the addresses of nodes in the format of wire.Names.
func Pack(nodes map[wire.NodeID]string) []byte {
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestSpeed) // the level is valid
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		fmt.Fprintf(w, "%d %s\n", id, nodes[id])
	}
	_ = w.Close() // a buffer accepts all writes
	return packed.Bytes()
}

// Heard returns the table after the message m of a master. before is the table after the previous
// message, or nil.
func Heard(m *wire.Names, before *Table) (*Table, error) {
	t := &Table{Self: m.Node, Master: m.Master, Nodes: map[wire.NodeID]string{}}
	if m.Partial && before != nil {
		maps.Copy(t.Nodes, before.Nodes)
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(m.Nodes)), maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("they have more than %d bytes", maxText)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: addresses of nodes: %w", wire.ErrFrame, err)
	}
	for line := range strings.Lines(string(text)) {
		number, addr, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := strconv.ParseInt(number, 10, 32)
		if err != nil || id < 0 || !isAddress(addr) {
			return nil, fmt.Errorf("%w: addresses of nodes: line %q", wire.ErrFrame, line)
		}
		t.Nodes[wire.NodeID(id)] = addr
	}
	if m.Node >= 0 && m.Addr != "" {
		t.Nodes[m.Node] = m.Addr
	}
	if !isAddress(t.Master) || m.Addr != "" && !isAddress(m.Addr) {
		return nil, fmt.Errorf("%w: addresses %q and %q", wire.ErrFrame, t.Master, m.Addr)
	}
	return t, nil
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// Address returns the address of one end of a connection, without its port.
func Address(end string) string {
	addr, err := netip.ParseAddrPort(end)
	if err != nil {
		return ""
	}
	return addr.Addr().Unmap().String()
}

// Lines returns the lines of the cluster in order of numbers, without the names in taken.
func (t *Table) Lines(taken map[string]bool) []byte {
	var b bytes.Buffer
	line := func(addr string, names ...string) {
		names = slices.DeleteFunc(names, func(name string) bool { return taken[name] })
		if addr != "" && len(names) > 0 {
			fmt.Fprintf(&b, "%s\t%s\n", addr, strings.Join(names, " "))
		}
	}
	if t.Self == FrontEnd {
		line(t.Master, "master", "self")
	} else {
		line(t.Master, "master")
	}
	for _, id := range slices.Sorted(maps.Keys(t.Nodes)) {
		names := []string{fmt.Sprint("n", id), fmt.Sprint(".", id)}
		if id == t.Self {
			names = append(names, "self")
		}
		line(t.Nodes[id], names...)
	}
	return b.Bytes()
}

// Join returns a file with its own lines and the lines of a table; if t is nil, with its own lines
// only.
func Join(file []byte, t *Table) []byte {
	own, _ := split(file)
	if t == nil {
		return own
	}
	taken := map[string]bool{}
	for _, fields := range entries(own) {
		for _, name := range fields[1:] {
			taken[name] = true
		}
	}
	if len(own) > 0 && own[len(own)-1] != '\n' {
		own = append(slices.Clip(own), '\n')
	}
	return slices.Concat(own, []byte(begin+"\n"), t.Lines(taken), []byte(end+"\n"))
}

// Read returns the table in a file, or nil if there is none.
func Read(file []byte) *Table {
	_, section := split(file)
	if section == nil {
		return nil
	}
	t := &Table{Self: FrontEnd, Nodes: map[wire.NodeID]string{}}
	for _, fields := range entries(section) {
		if slices.Contains(fields[1:], "master") {
			t.Master = fields[0]
			continue
		}
		id, err := strconv.ParseInt(strings.TrimLeft(fields[1], "n."), 10, 32)
		if err != nil {
			continue
		}
		t.Nodes[wire.NodeID(id)] = fields[0]
		if slices.Contains(fields, "self") {
			t.Self = wire.NodeID(id)
		}
	}
	return t
}

// split returns a file's own lines, and the lines of the cluster or nil. If the end line is
// missing, only the begin line does not belong to the file itself.
func split(file []byte) (own, section []byte) {
	before, after, found := cutLine(file, begin)
	if !found {
		return file, nil
	}
	section, rest, found := cutLine(after, end)
	if !found {
		section, rest = []byte{}, after
	}
	rest, _ = split(rest)
	return slices.Concat(before, rest), section
}

// cutLine returns the text before and after a line.
func cutLine(text []byte, line string) (before, after []byte, found bool) {
	for at := 0; at < len(text); {
		next := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if string(bytes.TrimSpace(text[at:next])) == line {
			return text[:at:at], text[next:], true
		}
		at = next
	}
	return text, nil, false
}

// entries returns the fields of lines in the form of hosts(5): an address and names.
func entries(text []byte) (all [][]string) {
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 1 {
			all = append(all, fields)
		}
	}
	return all
}

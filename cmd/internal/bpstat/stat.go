package bpstat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
	"bproc/internal/onscreen"
)

// Stat is bpstat with its inputs and outputs.
type Stat struct {
	Client *client.Client
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Names  Owners                    // of users and groups
	Screen func() (width, lines int) // of the terminal that Stdout is; nil if it is none
	Getenv func(string) string
}

// Bounds on requests to the master: by default, and if nodes must read their hardware again, for
// which the master waits a little less.
const (
	answerTimeout = 10 * time.Second
	freshTimeout  = 45 * time.Second
)

// Main runs bpstat with the arguments of its command line and returns its exit code.
func (s *Stat) Main(ctx context.Context, args []string) int {
	var o options
	cmd := o.command(func() error { return s.run(ctx, &o) })
	cmd.SetArgs(args)
	cmd.SetErr(s.Stderr)
	if err := printed.Execute(ctx, cmd, &printed.Output{To: s.Stdout}); err != nil {
		fmt.Fprintf(s.Stderr, "bpstat: %s\n", onscreen.Line(err.Error()))
		return 1
	}
	return 0
}

func (s *Stat) run(ctx context.Context, o *options) error {
	if o.update && !o.version {
		return s.update(ctx, o)
	}
	out := bufio.NewWriter(s.Stdout)
	err := s.print(ctx, out, o)
	return errors.Join(err, out.Flush())
}

// print prints the requested output once.
func (s *Stat) print(ctx context.Context, out io.Writer, o *options) error {
	limit := answerTimeout
	if o.fresh {
		limit = freshTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("the master does not answer"))
	defer cancel()
	switch {
	case o.version:
		fmt.Fprintf(out, "bpstat %s\n", release.Version())
		return nil
	case o.ps:
		return s.printPS(ctx, out)
	case o.procs:
		return s.printProcs(ctx, out, o)
	case o.host != "":
		return s.printHost(ctx, out, o)
	}
	nodes, err := s.nodes(ctx, o.nodes)
	if err != nil {
		return err
	}
	o.sort(nodes)
	switch {
	case o.inventory:
		return s.printInventory(ctx, out, o, nodes)
	case o.load:
		return s.printLoad(ctx, out, o, nodes)
	}
	if o.numbers {
		return s.printNumbers(ctx, out, o, nodes)
	}
	if o.json {
		return s.printNodesJSON(out, o, nodes)
	}
	switch {
	case o.total:
		fmt.Fprintln(out, len(nodes))
	case o.number:
		column(out, nodes, func(n *client.Node) any { return n.ID })
	case o.status:
		column(out, nodes, func(n *client.Node) any { return s.state(o, n.State, 0) })
	case o.address:
		column(out, nodes, func(n *client.Node) any { return host(n) })
	case o.long:
		s.printLong(out, o, nodes)
	default:
		s.printCompact(out, o, nodes)
	}
	return nil
}

// nodes returns the lines of the node table that a specification selects; all, if it is empty.
func (s *Stat) nodes(ctx context.Context, spec string) ([]client.Node, error) {
	table, err := s.Client.Nodes(ctx)
	if err != nil || spec == "" {
		return table, err
	}
	ids, err := client.Resolve(spec, table)
	if err != nil {
		return nil, err
	}
	byID := make(map[client.NodeID]*client.Node, len(table))
	for i := range table {
		byID[table[i].ID] = &table[i]
	}
	var nodes []client.Node
	for _, id := range ids {
		n := byID[id]
		if n == nil {
			return nil, fmt.Errorf("node %d: no such node", id)
		}
		nodes = append(nodes, *n)
	}
	return nodes, nil
}

// problem returns why a node has not answered, or "" if it has.
func problem(errno uint32) string {
	switch unix.Errno(errno) {
	case 0:
		return ""
	case unix.EHOSTDOWN:
		return "the node is down"
	case unix.ETIMEDOUT:
		return "the node does not answer"
	}
	return unix.Errno(errno).Error()
}

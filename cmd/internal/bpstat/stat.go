package bpstat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bproc/cmd/internal/release"
	"bproc/internal/client"
)

// Stat is bpstat with what it works on.
type Stat struct {
	Client *client.Client
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Width  int    // of a line, in characters
	Names  Owners // of users and groups
}

// answerTimeout bounds a request to the master.
const answerTimeout = 10 * time.Second

// Main runs bpstat with the arguments of its command line and returns its exit
// code.
func (s *Stat) Main(ctx context.Context, args []string) int {
	var o options
	cmd := o.command(func() error { return s.run(ctx, &o) })
	cmd.SetArgs(args)
	cmd.SetOut(s.Stdout)
	cmd.SetErr(s.Stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(s.Stderr, "bpstat: %v\n", err)
		return 1
	}
	return 0
}

func (s *Stat) run(ctx context.Context, o *options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errors.New("the master does not answer"))
	defer cancel()
	out := bufio.NewWriter(s.Stdout)
	err := s.print(ctx, out, o)
	return errors.Join(err, out.Flush())
}

func (s *Stat) print(ctx context.Context, out io.Writer, o *options) error {
	switch {
	case o.version:
		fmt.Fprintf(out, "bpstat %s\n", release.Version())
		return nil
	case o.ps:
		return s.printPS(ctx, out)
	case o.procs:
		return s.printProcs(ctx, out, o)
	}
	nodes, err := s.nodes(ctx, o.nodes)
	if err != nil {
		return err
	}
	o.sort(nodes)
	switch {
	case o.total:
		fmt.Fprintln(out, len(nodes))
	case o.number:
		column(out, nodes, func(n *client.Node) any { return n.ID })
	case o.status:
		column(out, nodes, func(n *client.Node) any { return n.State })
	case o.address:
		column(out, nodes, func(n *client.Node) any { return host(n) })
	case o.long:
		s.printLong(out, nodes)
	default:
		s.printCompact(out, nodes, !o.byNumber && !o.keep)
	}
	return nil
}

// nodes returns the lines of the table that are meant; with nothing said, all.
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

package bpctl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bproc/internal/client"
	"bproc/wire"
)

// tagCommand sets tags and attributes of nodes, or prints them.
func (c *Control) tagCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "tag nodes [tag | attribute=value] ...",
		Short:                 "Set tags and attributes of nodes, or print them",
		DisableFlagsInUseLine: true,
		Args:                  someOf("nodes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.printTags(cmd.Context(), args[0])
			}
			return c.tag(cmd.Context(), args[0], args[1:], nil)
		},
	}
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

// untagCommand removes tags and attributes of nodes.
func (c *Control) untagCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "untag nodes name ...",
		Short:                 "Remove tags and attributes of nodes",
		DisableFlagsInUseLine: true,
		Args:                  someOf("nodes", "name of a tag"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tag(cmd.Context(), args[0], nil, args[1:])
		},
	}
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

// someOf checks that a command has at least these operands.
func someOf(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("no %s given", names[len(args)])
		}
		return nil
	}
}

// tag changes the labels of nodes. It checks all labels before it changes any node.
func (c *Control) tag(ctx context.Context, spec string, set, remove []string) error {
	for _, l := range set {
		if !wire.IsLabel(l) {
			return fmt.Errorf("%q is no tag and no attribute: a name has letters, digits, _ . -, and a value these and : / + @ %%", l)
		}
		if name, _, _ := strings.Cut(l, "="); slices.Contains(wire.OwnAttributes, name) {
			return fmt.Errorf("%s is what nodes say of themselves, and cannot be set", name)
		}
	}
	for _, name := range remove {
		if !wire.IsLabelName(name) {
			return fmt.Errorf("%q is no name of a tag or an attribute", name)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	nodes, err := c.resolve(ctx, spec)
	if err != nil {
		return err
	}
	_, err = c.begin(ctx, nodes, change{NodeChange: client.NodeChange{Set: set, Remove: remove}})
	return err
}

// printTags prints a line with the labels of each node.
func (c *Control) printTags(ctx context.Context, spec string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	table, err := c.Client.Nodes(ctx)
	if err != nil {
		return err
	}
	ids, err := client.Resolve(spec, table)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return matchesNone(spec)
	}
	labels := make(map[client.NodeID][]string, len(table))
	for i := range table {
		labels[table[i].ID] = append([]string{table[i].ID.String()}, table[i].Labels...)
	}
	out := bufio.NewWriter(c.Stdout)
	for _, id := range ids {
		if labels[id] == nil {
			return errors.Join(out.Flush(), fmt.Errorf("node %d: no such node", id))
		}
		fmt.Fprintln(out, strings.Join(labels[id], " "))
	}
	return out.Flush()
}

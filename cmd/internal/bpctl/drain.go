package bpctl

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/internal/client"
)

// drainCommand makes nodes refuse new processes.
func (c *Control) drainCommand() *cobra.Command {
	var w waiting
	var wait bool
	cmd := &cobra.Command{
		Use:                   "drain [--wait [--timeout time]] nodes",
		Short:                 "Let what runs on nodes finish, and start nothing new there",
		DisableFlagsInUseLine: true,
		Args:                  operands.Named("nodes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.not = !wait; w.not && cmd.Flags().Changed("timeout") {
				return errors.New("--timeout is for --wait: without that nothing is waited for")
			}
			return c.drain(cmd.Context(), args[0], true, w)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&wait, "wait", false, "wait until nothing runs there any more")
	f.DurationVar(&w.limit, "timeout", defaultWait, "how long to wait")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

// undrainCommand makes drained nodes accept processes again.
func (c *Control) undrainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "undrain nodes",
		Short:                 "Start processes on nodes again that were drained",
		DisableFlagsInUseLine: true,
		Args:                  operands.Named("nodes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.drain(cmd.Context(), args[0], false, waiting{not: true})
		},
	}
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) drain(ctx context.Context, spec string, drain bool, w waiting) error {
	nodes, err := c.resolve(ctx, spec)
	if err != nil {
		return err
	}
	begun, failed := c.begin(ctx, nodes, change{NodeChange: client.NodeChange{Drain: &drain}})
	if w.not || failed != nil && !errors.Is(failed, errReported) {
		return failed
	}
	before, err := c.table(ctx)
	if err != nil {
		return err
	}
	return cmp.Or(c.await(ctx, begun, before, goalDrained, w.limit), failed)
}

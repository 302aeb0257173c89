package bpctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
)

// reloadCommand makes the master read its configuration again.
func (c *Control) reloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "reload",
		Short:                 "Have bpmaster read its configuration again, and say what has changed",
		DisableFlagsInUseLine: true,
		Args:                  operands.None,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return c.reload(cmd.Context()) },
	}
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	changes, err := c.Client.Reload(ctx)
	if err != nil {
		return err
	}
	for _, line := range changes {
		fmt.Fprintln(c.Stdout, line)
	}
	if len(changes) == 0 {
		fmt.Fprintln(c.Stdout, "nothing has changed")
	}
	return nil
}

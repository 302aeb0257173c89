package bpctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/internal/client"
	"bproc/internal/onscreen"
)

// revokeCommand removes nodes from the cluster.
func (c *Control) revokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "revoke nodes",
		Short:                 "Put nodes out of the cluster, until they are enrolled again",
		DisableFlagsInUseLine: true,
		Args:                  operands.Named("nodes"),
		RunE:                  func(cmd *cobra.Command, args []string) error { return c.revoke(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

// revokeTime is added to the timeout for each node: the master syncs each revocation to disk.
const revokeTime = 100 * time.Millisecond

// revoke makes the master forget the identities of nodes. A failure on one node does not stop the
// others.
func (c *Control) revoke(ctx context.Context, spec string) error {
	nodes, err := c.resolve(ctx, spec)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout+time.Duration(len(nodes))*revokeTime, errNoAnswer)
	defer cancel()
	return c.each(nodes, func(node client.NodeID) error { return c.Client.Revoke(ctx, node) })
}

// each calls do for each node and reports the errors.
func (c *Control) each(nodes []client.NodeID, do func(client.NodeID) error) (failed error) {
	for _, node := range nodes {
		err := do(node)
		switch {
		case errors.Is(err, client.ErrNoMaster):
			return err
		case err != nil:
			fmt.Fprintf(c.Stderr, "bpctl: %s\n", onscreen.Line(err.Error()))
			failed = errReported
		}
	}
	return failed
}

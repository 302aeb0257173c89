package bpctl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/internal/client"
)

// enrollCommand prints a join token, and nothing else, on standard output.
func (c *Control) enrollCommand() *cobra.Command {
	var e client.Enrolment
	var node int32
	cmd := &cobra.Command{
		Use:                   "enroll [--node number] [--name name] [--ttl time]",
		Short:                 "Print a token with which a slave can join once",
		DisableFlagsInUseLine: true,
		Args:                  operands.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e.Node = client.NodeID(node)
			return c.enroll(cmd.Context(), e)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Int32Var(&node, "node", -1, "number of the node; -1: the next free one")
	f.StringVar(&e.Name, "name", "", "name of the node (default its host name)")
	f.DurationVar(&e.TTL, "ttl", time.Hour, "how long the token can be used")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) enroll(ctx context.Context, e client.Enrolment) error {
	if e.TTL < time.Second {
		return fmt.Errorf("--ttl %v: at least one second is needed", e.TTL)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	token, _, err := c.Client.Enroll(ctx, e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, token)
	return err
}

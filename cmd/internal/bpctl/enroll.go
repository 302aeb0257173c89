package bpctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/internal/client"
)

// enrolment holds the options of bpctl enroll.
type enrolment struct {
	client.Enrolment
	list   bool
	revoke string // ID of a token
}

// enrollCommand prints a join token on standard output, and nothing else.
func (c *Control) enrollCommand() *cobra.Command {
	var e enrolment
	var node int32
	cmd := &cobra.Command{
		Use:                   "enroll [--node number | --count number] [--name name] [--ttl time] | --list | --revoke id",
		Short:                 "Print a token with which a machine can become a node, or several can",
		DisableFlagsInUseLine: true,
		Args:                  operands.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (e.list || e.revoke != "") && cmd.Flags().NFlag() > 1 {
				return errors.New("--list and --revoke go with no other option")
			}
			e.Node = client.NodeID(node)
			return c.enroll(cmd.Context(), &e)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Int32Var(&node, "node", -1, "number of the node; -1: the next free one")
	f.StringVar(&e.Name, "name", "", "name of the node (default its host name)")
	f.DurationVar(&e.TTL, "ttl", time.Hour, "how long the token can be used")
	f.IntVar(&e.Count, "count", 1, "how many machines can join with the token")
	f.BoolVar(&e.list, "list", false, "print the tokens that can still be used")
	f.StringVar(&e.revoke, "revoke", "", "take the token with this `id` no more")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) enroll(ctx context.Context, e *enrolment) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	switch {
	case e.list:
		return c.listTokens(ctx)
	case e.revoke != "":
		return c.Client.RevokeToken(ctx, e.revoke)
	case e.TTL < time.Second:
		return fmt.Errorf("--ttl %v: at least one second is needed", e.TTL)
	case e.Count < 1:
		return fmt.Errorf("--count %d: at least one machine is needed", e.Count)
	case e.Count > 1 && (e.Node >= 0 || e.Name != ""):
		return errors.New("a token for several machines can have neither --node nor --name")
	}
	token, _, err := c.Client.Enroll(ctx, e.Enrolment)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, token)
	return err
}

// listTokens prints a line for each token that can still be used.
func (c *Control) listTokens(ctx context.Context) error {
	tokens, err := c.Client.Tokens(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tUSED\tEXPIRES\tFOR")
	for _, t := range tokens {
		whom := "any machine"
		switch {
		case t.Node >= 0 && t.Name != "":
			whom = fmt.Sprintf("node %d, %s", t.Node, t.Name)
		case t.Node >= 0:
			whom = fmt.Sprintf("node %d", t.Node)
		case t.Name != "":
			whom = t.Name
		case t.Uses >= t.Count:
			whom = "those that have joined with it"
		}
		fmt.Fprintf(w, "%s\t%d/%d\t%s\t%s\n", t.ID, t.Uses, cmp.Or(t.Count, 1), time.Unix(t.Expires, 0).Format("2006-01-02 15:04:05"), whom)
	}
	return w.Flush()
}

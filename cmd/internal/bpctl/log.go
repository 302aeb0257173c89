package bpctl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/internal/client"
)

// logCommand prints the logs of set-up scripts and power-on commands.
func (c *Control) logCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:                   "log [-f] nodes",
		Short:                 "Show what the set-up scripts of nodes, and the commands that switch them on, have printed",
		DisableFlagsInUseLine: true,
		Args:                  operands.Named("nodes"),
		RunE:                  func(cmd *cobra.Command, args []string) error { return c.showLogs(cmd.Context(), args[0], follow) },
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with what is added, until interrupted; for one node")
	f.BoolP("help", "h", false, "print this help")
	return cmd
}

func (c *Control) showLogs(ctx context.Context, spec string, follow bool) error {
	nodes, err := c.resolve(ctx, spec)
	if err != nil {
		return err
	}
	if follow && len(nodes) > 1 {
		return errors.New("-f follows the log of one node")
	}
	if !follow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, powerOnTimeout, errNoAnswer)
		defer cancel()
	}
	first := true
	return c.each(nodes, func(node client.NodeID) error {
		out := io.Writer(c.Stdout)
		if len(nodes) > 1 {
			out = &titled{out: c.Stdout, title: fmt.Sprintf("==> node %v <==\n", node), apart: !first}
		}
		first = false
		return c.Client.ReadLog(ctx, node, follow, out)
	})
}

// titled writes a title before the first output.
type titled struct {
	out   io.Writer
	title string
	apart bool // write an empty line first
	begun bool
}

func (t *titled) Write(text []byte) (int, error) {
	if !t.begun {
		t.begun = true
		if t.apart {
			t.title = "\n" + t.title
		}
		if _, err := io.WriteString(t.out, t.title); err != nil {
			return 0, err
		}
	}
	return t.out.Write(text)
}

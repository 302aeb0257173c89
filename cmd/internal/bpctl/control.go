package bpctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
)

// Control is bpctl with what it works on.
type Control struct {
	Client  *client.Client
	Checker string // the program bpcheck
	Stdout  io.Writer
	Stderr  io.Writer
}

// answerTimeout bounds a request to the master.
const answerTimeout = 10 * time.Second

var (
	errNoAnswer = errors.New("the master does not answer")
	// errReported ends bpctl with a failure whose message is printed.
	errReported = errors.New("reported")
)

// Main runs bpctl with the arguments of its command line and returns its exit
// code.
func (c *Control) Main(ctx context.Context, args []string) int {
	cmd := c.command()
	cmd.SetArgs(args)
	cmd.SetOut(c.Stdout)
	cmd.SetErr(c.Stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(c.Stderr, "bpctl: %v\n", err)
	}
	return 1
}

// options are what the command line says.
type options struct {
	nodes   string
	master  bool
	force   bool
	version bool
	actions actions
}

func (c *Control) command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: `bpctl -S nodes | -M  [-s state] [-m mode] [-u user] [-g group] [--trust level] ...
  bpctl enroll [--node number] [--name name] [--ttl time]
  bpctl revoke nodes
  bpctl check [--json] [--front-end | --node [master[:port]]]`,
		Short:                 "Change the nodes of the cluster",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:                  operands.None,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return c.change(cmd.Context(), &o) },
	}
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.StringVarP(&o.nodes, "slave", "S", "", "change these `nodes`")
	f.BoolVarP(&o.master, "master", "M", false, "change the front end")
	f.VarP(o.actions.flag("state", parseState), "state", "s", "set the state")
	f.VarP(o.actions.flag("mode", parseMode), "mode", "m", "set who may start processes, in octal: owner 100, group 10, others 1")
	f.VarP(o.actions.flag("user", parseUser), "user", "u", "set the owner")
	f.VarP(o.actions.flag("group", parseGroup), "group", "g", "set the group")
	f.Var(o.actions.flag("level", parseTrust), "trust", "set how far nodes are believed: full or limited")
	f.BoolVarP(&o.force, "fast", "f", false, "ignored, for compatibility")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	cmd.AddCommand(c.enrollCommand(), c.revokeCommand(), c.checkCommand())
	cmd.SetFlagErrorFunc(operands.FlagError)
	return cmd
}

// change carries out the actions, each on all nodes, in the order in which they
// are given. What fails on one node is not the end for the others.
func (c *Control) change(ctx context.Context, o *options) error {
	switch {
	case o.version:
		fmt.Fprintf(c.Stdout, "bpctl %s\n", release.Version())
		return nil
	case o.master == (o.nodes != ""):
		return errors.New("one of -S and -M is needed")
	case len(o.actions.list) == 0:
		return errors.New("nothing to do: one of -s, -m, -u, -g and --trust is needed")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	nodes := []client.NodeID{client.FrontEnd}
	if !o.master {
		var err error
		if nodes, err = c.Client.Resolve(ctx, o.nodes); err != nil {
			return err
		}
	}
	var failed error
	for _, a := range o.actions.list {
		err := c.each(nodes, func(node client.NodeID) error { return c.Client.SetNode(ctx, node, a) })
		if err != nil && !errors.Is(err, errReported) {
			return err
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

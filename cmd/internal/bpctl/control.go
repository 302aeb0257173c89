package bpctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
	"bproc/internal/nearest"
	"bproc/internal/onscreen"
)

// Control is bpctl with its inputs and outputs.
type Control struct {
	Client  *client.Client
	Checker string // path of the program bpcheck
	Stdout  io.Writer
	Stderr  io.Writer
	Shown   bool // Stderr is a terminal: show progress there
}

// Bounds on the time of a request to the master, and of one that runs the power-on command.
const (
	answerTimeout  = 10 * time.Second
	powerOnTimeout = 5 * time.Minute
)

var (
	errNoAnswer = errors.New("the master does not answer")
	// errReported ends bpctl with a failure whose message was already printed.
	errReported = errors.New("reported")
)

// Main runs bpctl with the arguments of its command line and returns its exit code.
func (c *Control) Main(ctx context.Context, args []string) int {
	out := &printed.Output{To: c.Stdout}
	c.Stdout = out
	cmd := c.command()
	cmd.SetArgs(args)
	cmd.SetErr(c.Stderr)
	err := printed.Execute(ctx, cmd, out)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		for line := range strings.Lines(err.Error()) { // faults of a configuration have one line each
			fmt.Fprintf(c.Stderr, "bpctl: %s\n", onscreen.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	return 1
}

// options are the options of the command line.
type options struct {
	nodes   string
	master  bool
	force   bool
	version bool
	actions actions
	waiting
}

func (c *Control) command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: `bpctl -S nodes | -M  [-s state] [-m mode] [-u user] [-g group] [--trust level] ...
  bpctl -S nodes [-R] [-H] [-P] [--poweron] [--no-wait | --timeout time] ...
  bpctl drain [--wait] nodes
  bpctl undrain nodes
  bpctl log [-f] nodes
  bpctl reload
  bpctl hosts [--write file [--follow | --remove]]
  bpctl enroll [--node number | --count number] [--name name] [--ttl time]
  bpctl enroll --list | --revoke id
  bpctl revoke nodes
  bpctl tag nodes [tag | attribute=value] ...
  bpctl untag nodes name ...
  bpctl check [--json] [--front-end | --node [master[:port]]]`,
		Short:                 "Change the nodes of the cluster",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:                  noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := operands.Exclusive(cmd, "no-wait", "timeout"); err != nil {
				return err
			}
			return c.change(cmd.Context(), &o)
		},
	}
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.StringVarP(&o.nodes, "slave", "S", "", "change these `nodes`")
	f.BoolVarP(&o.master, "master", "M", false, "the front end, of which nothing can be changed; for compatibility")
	f.VarP(o.actions.flag("state", parseState), "state", "s", "set the state")
	f.VarP(o.actions.flag("mode", parseMode), "mode", "m", "set who may start processes, in octal: owner 100, group 10, others 1")
	f.VarP(o.actions.flag("user", parseUser), "user", "u", "set the owner")
	f.VarP(o.actions.flag("group", parseGroup), "group", "g", "set the group")
	f.Var(o.actions.flag("trust", parseTrust), "trust", "set how far nodes are believed: full or limited")
	o.actions.add(f, "reboot", "R", "boot nodes anew", toState("reboot"))
	o.actions.add(f, "halt", "H", "halt nodes", toState("halt"))
	o.actions.add(f, "pwroff", "P", "switch nodes off", toState("pwroff"))
	o.actions.add(f, "poweron", "", "switch nodes on, by a command of the front end", change{powerOn: true})
	f.BoolVar(&o.not, "no-wait", false, "do not wait until nodes have booted, halted, or are off or on")
	f.DurationVar(&o.limit, "timeout", defaultWait, "how long to wait for that")
	f.BoolVarP(&o.force, "fast", "f", false, "ignored, for compatibility")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	cmd.AddCommand(c.drainCommand(), c.undrainCommand(), c.logCommand(), c.reloadCommand(), c.hostsCommand(), c.enrollCommand(), c.revokeCommand(), c.tagCommand(), c.untagCommand(), c.checkCommand())
	cmd.SetFlagErrorFunc(operands.FlagError)
	cmd.PersistentPreRunE = operands.Given
	return cmd
}

// noCommand returns the error for an operand, which is an unknown command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().NFlag() > 0 {
		return fmt.Errorf("operand %q is one too many", args[0])
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	if near := nearest.To(args[0], names); near != "" {
		return fmt.Errorf("there is no command %q; is %s meant?", args[0], near)
	}
	return fmt.Errorf("there is no command %q; --help lists those that there are", args[0])
}

// change carries out the actions in the given order, each on all nodes. A failure on one node does
// not stop the others.
func (c *Control) change(ctx context.Context, o *options) error {
	switch {
	case o.version:
		fmt.Fprintf(c.Stdout, "bpctl %s\n", release.Version())
		return nil
	case o.master == (o.nodes != ""):
		return errors.New("one of -S and -M is needed; --help says how")
	case len(o.actions.list) == 0:
		return errors.New("nothing to do: one of -s, -m, -u, -g, -R, -H, -P, --trust and --poweron is needed")
	case o.limit < time.Second:
		return fmt.Errorf("--timeout %v: at least one second is needed", o.limit)
	}
	nodes := []client.NodeID{client.FrontEnd}
	if !o.master {
		var err error
		if nodes, err = c.resolve(ctx, o.nodes); err != nil {
			return err
		}
	}
	var failed error
	for _, a := range o.actions.list {
		err := c.act(ctx, nodes, a, o.waiting)
		if err != nil && !errors.Is(err, errReported) {
			return err
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// resolve returns the nodes of a specification; none is an error.
func (c *Control) resolve(ctx context.Context, spec string) ([]client.NodeID, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	nodes, err := c.Client.Resolve(ctx, spec)
	if err == nil && len(nodes) == 0 {
		err = matchesNone(spec)
	}
	return nodes, err
}

func matchesNone(spec string) error { return fmt.Errorf("node specification %q matches no node", spec) }

// set changes the lines of nodes, and returns the reasons for the nodes that were not changed.
func (c *Control) set(ctx context.Context, nodes []client.NodeID, what client.NodeChange) (map[client.NodeID]error, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	return c.Client.SetNodes(ctx, nodes, what)
}

package bpcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/internal/check"
)

// Command is "bpctl check" with its inputs and outputs.
type Command struct {
	Machine check.Machine
	Stdout  io.Writer
	Stderr  io.Writer
	Colours bool // Stdout is a terminal that shows colours
}

// Exit codes.
const (
	exitFine  = 0
	exitFails = 1 // at least one check failed
	exitUsage = 2
)

// Main runs the command with its arguments and returns its exit code.
func (c *Command) Main(ctx context.Context, args []string) int {
	code := exitFine
	out := &printed.Output{To: c.Stdout}
	c.Stdout = out
	cmd := c.command(&code)
	cmd.SetArgs(args)
	cmd.SetErr(c.Stderr)
	if err := printed.Execute(ctx, cmd, out); err != nil {
		fmt.Fprintf(c.Stderr, "bpctl check: %v\n", err)
		return exitUsage
	}
	return code
}

// options are the options of the command line.
type options struct {
	node     bool
	frontEnd bool
	json     bool
}

func (c *Command) command(code *int) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "bpctl check [--json] [--front-end | --node [master[:port]]]",
		Short:                 "Say what this machine lacks as a front end or node",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sides, err := c.sides(&o, args)
			if err != nil {
				return err
			}
			*code = c.run(cmd.Context(), sides, o.json)
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.node, "node", false, "check the machine as a node, of this master if one is given")
	f.BoolVar(&o.frontEnd, "front-end", false, "check the machine as a front end")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolP("help", "h", false, "print this help")
	cmd.SetFlagErrorFunc(operands.FlagError)
	return cmd
}

// sides returns the roles for which the machine is checked.
func (c *Command) sides(o *options, args []string) ([]check.Side, error) {
	var sides []check.Side
	if o.frontEnd {
		sides = append(sides, check.FrontEnd)
	}
	if o.node {
		sides = append(sides, check.Node)
	}
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("operand %q is one too many", args[1])
	case len(args) == 1 && !o.node:
		return nil, fmt.Errorf("operand %q: a master is for --node", args[0])
	case len(args) == 1:
		c.Machine.Master = args[0]
	}
	if len(sides) > 0 {
		return sides, nil
	}
	sides, certain := c.Machine.Sides()
	if !certain {
		return nil, errors.New("this machine may become a front end or a node: say --front-end or --node")
	}
	return sides, nil
}

// run makes the checks and prints their results.
func (c *Command) run(ctx context.Context, sides []check.Side, asJSON bool) int {
	r := report{Release: c.Machine.Release, Sides: sides}
	for _, side := range sides {
		r.Checks = append(r.Checks, c.Machine.Run(ctx, side)...)
	}
	if asJSON {
		r.json(c.Stdout)
	} else {
		r.text(c.Stdout, c.Colours)
	}
	if slices.ContainsFunc(r.Checks, func(r check.Result) bool { return r.Status == check.Fail }) {
		return exitFails
	}
	return exitFine
}

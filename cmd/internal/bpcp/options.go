package bpcp

import (
	"errors"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
)

// options are the options and operands of the command line.
type options struct {
	recursive bool
	preserve  bool
	version   bool
	agent     bool

	sources []operand
	target  operand
}

const usageLine = `bpcp [-r] [-p] [nodes:]source ... [nodes:]target`

func (o *options) command(run func() error) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   usageLine,
		Short:                 "Copy files to, from and between nodes of the cluster",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		Args:                  o.operands,
		RunE:                  func(*cobra.Command, []string) error { return run() },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.recursive, "recursive", "r", false, "copy directories, and files of all kinds as what they are")
	f.BoolVarP(&o.preserve, "preserve", "p", false, "keep times, modes, owners and extended attributes")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	f.BoolVar(&o.agent, agentFlag, false, "take part in a copy that another bpcp has started")
	_ = f.MarkHidden(agentFlag) // the flag exists
	cmd.SetFlagErrorFunc(operands.FlagError)
	cmd.PersistentPreRunE = operands.Given
	return cmd
}

// agentFlag marks a bpcp that another bpcp started.
const agentFlag = "agent"

func (o *options) operands(_ *cobra.Command, args []string) error {
	if o.version || o.agent {
		return operands.None(nil, args)
	}
	switch len(args) {
	case 0:
		return errors.New("no source and no target given; --help says how")
	case 1:
		return errors.New("no target given; --help says how")
	}
	for i, arg := range args {
		op, err := parseOperand(arg)
		if err != nil {
			return err
		}
		if i == len(args)-1 {
			o.target = op
		} else {
			o.sources = append(o.sources, op)
		}
	}
	return nil
}

package bpstat

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
)

// options are what the command line says.
type options struct {
	compact bool
	long    bool
	address bool
	status  bool
	number  bool
	total   bool
	procs   bool
	ps      bool

	reverse  bool
	byNumber bool
	byStatus bool
	keep     bool

	version bool
	nodes   string // node specification
}

const usageLine = `bpstat [options] [nodes ...]
  ps ... | bpstat -P`

func (o *options) command(run func() error) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   usageLine,
		Short:                 "Print the nodes of the cluster, and where processes are",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		Args:                  o.operands,
		RunE:                  func(*cobra.Command, []string) error { return run() },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.BoolVarP(&o.compact, "compact", "c", false, "a line for nodes that are alike (default)")
	f.BoolVarP(&o.long, "long", "l", false, "a line for each node")
	f.BoolVarP(&o.address, "address", "a", false, "print addresses only")
	f.BoolVarP(&o.status, "status", "s", false, "print states only")
	f.BoolVarP(&o.number, "number", "n", false, "print numbers only")
	f.BoolVarP(&o.total, "total", "t", false, "print how many nodes there are")
	f.BoolVarP(&o.procs, "pids", "p", false, "print processes and their nodes")
	f.BoolVarP(&o.ps, "ps", "P", false, "read the output of ps and put the node before each line")
	f.BoolVarP(&o.reverse, "sort-reverse", "R", false, "reverse the order")
	f.BoolVarP(&o.byNumber, "sort-number", "N", false, "in order of numbers (default)")
	f.BoolVarP(&o.byStatus, "sort-status", "S", false, "in order of states")
	f.BoolVarP(&o.keep, "keep-order", "O", false, "in the order in which the nodes are given")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	cmd.SetFlagErrorFunc(operands.FlagError)
	return cmd
}

func (o *options) operands(c *cobra.Command, args []string) error {
	if err := operands.Exclusive(c, "compact", "long", "address", "status", "number", "total", "pids", "ps"); err != nil {
		return err
	}
	if err := operands.Exclusive(c, "sort-number", "sort-status", "keep-order"); err != nil {
		return err
	}
	if o.ps && len(args) > 0 {
		return errors.New("-P takes no nodes")
	}
	o.nodes = strings.Join(args, ",")
	return nil
}

package bpstat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
)

// options are the options and operands of the command line.
type options struct {
	compact bool
	long    bool
	address bool
	status  bool
	number  bool
	total   bool
	procs   bool
	ps      bool
	host    string // -A

	load      bool
	inventory bool
	numbers   bool
	fresh     bool

	reverse  bool
	byNumber bool
	byStatus bool
	keep     bool

	update  bool
	json    bool
	colour  string
	lock    bool
	version bool
	nodes   string // node specification
}

const usageLine = `bpstat [options] [nodes ...]
  bpstat -A host
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
	f.StringVarP(&o.host, "host", "A", "", "print the number of the node with this name or `address`")
	f.BoolVar(&o.load, "load", false, "print how busy the nodes are")
	f.BoolVar(&o.inventory, "inventory", false, "print what machines the nodes are")
	f.BoolVar(&o.fresh, "fresh", false, "with --inventory, have nodes that are up find out anew")
	f.BoolVar(&o.numbers, "numbers", false, "print what process numbers nodes have")
	f.BoolVarP(&o.reverse, "sort-reverse", "R", false, "reverse the order")
	f.BoolVarP(&o.byNumber, "sort-number", "N", false, "in order of numbers (default)")
	f.BoolVarP(&o.byStatus, "sort-status", "S", false, "in order of states")
	f.BoolVarP(&o.keep, "keep-order", "O", false, "in the order in which the nodes are given")
	f.BoolVarP(&o.update, "update", "U", false, "print again whenever something changes, until interrupted")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.colour, "color", "auto", "`when` to colour states: auto, always, never")
	f.BoolVarP(&o.lock, "lock", "L", false, "ignored, for compatibility")
	f.BoolVarP(&o.version, "version", "v", false, "print the version")
	f.BoolVarP(&o.version, "Version", "V", false, "print the version")
	f.Lookup("Version").Hidden = true
	f.BoolP("help", "h", false, "print this help")
	cmd.SetFlagErrorFunc(operands.FlagError)
	cmd.PersistentPreRunE = operands.Given
	return cmd
}

// forms are the options that select the output.
var forms = []string{"compact", "long", "address", "status", "number", "total", "pids", "ps", "host", "load", "inventory", "numbers"}

func (o *options) operands(c *cobra.Command, args []string) error {
	if err := operands.Exclusive(c, forms...); err != nil {
		return err
	}
	if err := operands.Exclusive(c, "sort-number", "sort-status", "keep-order"); err != nil {
		return err
	}
	switch o.colour {
	case "auto", "always", "never":
	default:
		return fmt.Errorf("option --color: %q is none of auto, always and never", o.colour)
	}
	o.nodes = strings.Join(args, ",")
	return o.consistent(c, args)
}

// consistent rejects combinations of options and operands that make no sense.
func (o *options) consistent(c *cobra.Command, args []string) error {
	switch {
	case o.ps && len(args) > 0:
		return errors.New("-P takes no nodes")
	case c.Flags().Changed("host") && o.host == "":
		return errors.New("-A needs a name or an address")
	case o.host != "" && len(args) > 0:
		return errors.New("-A takes no nodes")
	case slices.Contains(args, ""): // from an unset variable; no operands at all mean all nodes
		return errors.New("an empty word means no node")
	case o.fresh && !o.inventory:
		return errors.New("--fresh is for --inventory")
	case o.inventory && o.update:
		return errors.New("--inventory and -U exclude each other")
	case o.ps && o.update:
		return errors.New("-P and -U exclude each other")
	case o.ps && o.json:
		return errors.New("-P and --json exclude each other")
	}
	return nil
}

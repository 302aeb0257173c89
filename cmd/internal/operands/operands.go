package operands

import (
	"fmt"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/flags"
)

// Named returns a check that a command has exactly these operands.
func Named(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("no %s given", names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("operand %q is one too many", args[len(names)])
		}
		return nil
	}
}

// None checks that a command has no operands.
var None = Named()

// Exclusive returns an error if more than one of the named options of c is given.
func Exclusive(c *cobra.Command, names ...string) error {
	first := ""
	for _, name := range names {
		if !c.Flags().Changed(name) {
			continue
		}
		option := "--" + name
		if letter := c.Flags().Lookup(name).Shorthand; letter != "" {
			option = "-" + letter
		}
		if first != "" {
			return fmt.Errorf("%s and %s exclude each other", first, option)
		}
		first = option
	}
	return nil
}

// Given is for cobra's PersistentPreRunE: an option with nothing as its value is an error.
func Given(c *cobra.Command, _ []string) error { return flags.Given(c.Flags()) }

// FlagError is for cobra's SetFlagErrorFunc: it explains errors in terms of the command line.
func FlagError(_ *cobra.Command, err error) error { return flags.Explain(err) }

package bpctl

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// checkCommand executes bpcheck, which parses the rest of the command line.
func (c *Control) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "check [--json] [--front-end | --node [master[:port]]]",
		Short:              "Say what this machine lacks as a front end or node",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			argv := append([]string{"bpctl check"}, args...)
			return fmt.Errorf("execute %s: %w", c.Checker, unix.Exec(c.Checker, argv, os.Environ()))
		},
	}
}

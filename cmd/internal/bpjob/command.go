package bpjob

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/release"
)

// Command is bpjob with what it works on.
type Command struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// errReported ends bpjob with a failure whose message is printed.
var errReported = errors.New("reported")

// Main runs bpjob with the arguments of its command line and returns its exit code.
func (c *Command) Main(args []string) int {
	cmd := c.command()
	cmd.SetArgs(args)
	cmd.SetOut(c.Stdout)
	cmd.SetErr(c.Stderr)
	err := cmd.Execute()
	if err == nil {
		return 0
	}
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(c.Stderr, "bpjob: %v\n", err)
	}
	var failed *failedError
	if errors.As(err, &failed) {
		return failed.code
	}
	return 1
}

func (c *Command) command() *cobra.Command {
	var version bool
	cmd := &cobra.Command{
		Use:                   "bpjob command ...",
		Short:                 "Work with jobs: isolated, limited and supervised processes",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; see bpjob --help", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if version {
				fmt.Fprintf(c.Stdout, "bpjob %s\n", release.Version())
				return nil
			}
			return errors.New("no command given; see bpjob --help")
		},
	}
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.BoolVarP(&version, "version", "v", false, "print the version")
	f.BoolP("help", "h", false, "print this help")
	cmd.AddCommand(
		c.startCommand(), c.stopCommand(), c.restartCommand(), c.runCommand(), c.listCommand(), c.pidCommand(), c.statusCommand(),
		c.logsCommand(), c.shellCommand(), c.traceCommand(), c.checkCommand(), c.superviseCommand(),
	)
	cmd.SetFlagErrorFunc(operands.FlagError)
	return cmd
}

// oneJob wants the name of one job.
func oneJob(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("must specify a job")
	case 1:
		return nil
	}
	return fmt.Errorf("one job at a time, not %q", args)
}

// nothing wants no arguments.
func nothing(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is too much", args)
	}
	return nil
}

func processFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "process", "p", "", "the `process`; otherwise the one that is called as its job")
}

func nodesFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "nodes", "N", "", "the `nodes` that it may run on, in place of those of the job file")
}

// finish gives a command what all have.
func finish(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolP("help", "h", false, "print this help")
	return cmd
}

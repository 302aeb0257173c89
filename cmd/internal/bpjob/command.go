package bpjob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/internal/onscreen"
)

// Command is bpjob with its inputs and outputs.
type Command struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	BPM    bool // it was called as bpm

	args   []string // of the command line
	caller uint32   // who asks
	behalf bool     // root acts on the caller's behalf
}

// name returns the name under which bpjob was called.
func (c *Command) name() string {
	if c.BPM {
		return "bpm"
	}
	return "bpjob"
}

// say prints a line on standard error.
func (c *Command) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.name(), onscreen.Text(text))
}

// ownUmask is the umask of bpjob, here and on nodes, and of the processes of jobs. So the users of
// jobs can enter the directories that bpjob makes, whoever starts the jobs.
const ownUmask = 0o022

// errReported ends bpjob with a failure whose message was already printed.
var errReported = errors.New("reported")

// Main runs bpjob with the arguments of its command line and returns its exit code.
func (c *Command) Main(ctx context.Context, args []string) int {
	cmd := c.command()
	c.args = args
	cmd.SetArgs(args)
	cmd.SetErr(c.Stderr)
	unix.Umask(ownUmask)
	err := c.identify()
	if err == nil {
		err = printed.Execute(ctx, cmd, &printed.Output{To: c.Stdout})
	}
	if err == nil {
		return 0
	}
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	if !errors.Is(err, errReported) {
		c.say("%v", err)
	}
	var failed *failedError
	if errors.As(err, &failed) {
		return failed.code
	}
	return 1
}

func (c *Command) command() *cobra.Command {
	var version bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:                   c.name() + " command ...",
		Short:                 "Work with jobs: isolated, limited and supervised processes",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; see %s --help", args[0], c.name())
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			switch {
			case version:
				return c.printVersion()
			case c.BPM:
				return errors.Join(cmd.Usage(), errReported)
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
	for _, sub := range []*cobra.Command{
		c.startCommand(), c.stopCommand(), c.restartCommand(), c.runCommand(), c.listCommand(), c.pidCommand(), c.statusCommand(),
		c.logsCommand(), c.shellCommand(), c.traceCommand(), c.checkCommand(), c.superviseCommand(), c.serveCommand(), c.versionCommand(),
	} {
		sub.Flags().SortFlags = false
		sub.Flags().BoolP("help", "h", false, "print this help")
		cmd.AddCommand(sub)
	}
	cmd.SetFlagErrorFunc(operands.FlagError)
	cmd.PersistentPreRunE = operands.Given
	return cmd
}

// selection is the process, and its nodes, that a command line names.
type selection struct{ job, process, nodes string }

// forJob returns a command about a process of a job.
func forJob(use, short string, do func(context.Context, selection) error) (*cobra.Command, *selection) {
	var s selection
	cmd := &cobra.Command{
		Use: use, Short: short, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New("must specify a job")
			case 1:
				s.job = args[0]
				return do(cmd.Context(), s)
			}
			return fmt.Errorf("one job at a time, not %q", args)
		},
	}
	cmd.Flags().StringVarP(&s.process, "process", "p", "", "the `process`; otherwise the one that is called as its job")
	return cmd, &s
}

// onNodes gives a command the option for the nodes of a process.
func (s *selection) onNodes(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&s.nodes, "nodes", "N", "", "the `nodes` that it may run on, in place of those of the job file")
	return cmd
}

// nothing rejects arguments.
func nothing(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("it takes no arguments, such as %q; --help lists what it takes", args[0])
	}
	return nil
}

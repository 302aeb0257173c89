package bpjob

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// logOptions are the options of "bpjob logs".
type logOptions struct {
	all, errors, follow, quiet bool
	lines                      int
}

func (c *Command) logsCommand() *cobra.Command {
	var o logOptions
	cmd, _ := forJob("logs [-p process] [-aefq] [-n lines] job", "Print the logs of a process of a job", func(_ context.Context, s selection) error { return c.logs(s, o) })
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "of standard output and of standard error")
	f.BoolVarP(&o.errors, "err", "e", false, "of standard error, not of standard output")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on as the logs grow")
	f.IntVarP(&o.lines, "lines", "n", 25, "the last so many `lines`")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no headers that name the files")
	return cmd
}

// logs prints the logs by tail(1).
func (c *Command) logs(s selection, o logOptions) error {
	p, err := at(s)
	if err != nil {
		return err
	}
	streams := []string{"stdout"}
	switch {
	case o.all:
		streams = []string{"stdout", "stderr"}
	case o.errors:
		streams = []string{"stderr"}
	}
	args := []string{"-n", fmt.Sprint(max(0, o.lines))}
	if o.follow {
		args = append(args, "-F")
	}
	if o.quiet {
		args = append(args, "-q")
	}
	for _, s := range streams {
		path := p.Output(s)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("logs not found: %w", err)
		}
		args = append(args, path)
	}
	cmd := exec.Command("tail", args...)
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	return c.until(cmd)
}

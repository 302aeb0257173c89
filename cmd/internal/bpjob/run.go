package bpjob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"bproc/internal/job/file"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// codeSignal is added to the number of the signal that ended a process.
const codeSignal = 128

// exitError is the exit code of a process in the foreground, which becomes bpjob's.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func (c *Command) runCommand() *cobra.Command {
	var volumes, env []string
	cmd, s := forJob("run [-p process] [-N nodes] [-v path[:option,...]] [-e name=value] job", "Run a process of a job in the foreground",
		c.asRoot(func(ctx context.Context, s selection) error { return c.run(ctx, s, volumes, env) }))
	s.onNodes(cmd)
	cmd.Flags().StringArrayVarP(&volumes, "volume", "v", nil, "another `path` that the process sees; options are writable, allow_executions and mount_only")
	cmd.Flags().StringArrayVarP(&env, "env", "e", nil, "another environment variable, as `name=value`")
	return cmd
}

// add adds volumes and variables to those of the job file.
func (c *chosen) add(volumes, env []string) error {
	for _, text := range volumes {
		path, options, _ := strings.Cut(text, ":")
		v := file.Volume{Path: path}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("volume %s: the path must be absolute", text)
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "writable":
				v.Writable = true
			case "allow_executions":
				v.AllowExecutions = true
			case "mount_only":
				v.MountOnly = true
			default:
				return fmt.Errorf("volume %s: there is no option %q; there are writable, allow_executions and mount_only", text, option)
			}
		}
		c.process.Unsafe.UnrestrictedVolumes = append(slices.Clone(c.process.Unsafe.UnrestrictedVolumes), v)
	}
	for _, text := range env {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("environment %q: write it as name=value", text)
		}
		if c.process.Env == nil {
			c.process.Env = make(map[string]string)
		}
		c.process.Env[name] = value
	}
	return nil
}

// run runs a process to its end.
func (c *Command) run(ctx context.Context, sel selection, volumes, env []string) error {
	ch, err := c.choose(ctx, sel)
	if err == nil {
		err = ch.add(volumes, env)
	}
	if err == nil {
		err = ch.permit()
	}
	if err != nil {
		return err
	}
	s, err := c.supervisor(ch)
	if err != nil {
		return err
	}
	request, err := ch.place.Request()
	if err != nil {
		return err
	}
	began := sync.OnceFunc(func() { request.Close() })
	defer began()
	alive, err := ch.place.Supervised()
	if err == nil && alive {
		err = fmt.Errorf("process %v is running already", ch.place)
	}
	if err != nil {
		return err
	}
	lock, err := ch.place.Supervise()
	if err != nil {
		return err
	}
	s.Foreground, s.Stdout, s.Stderr = true, c.Stdout, c.Stderr
	s.Changed = func(place.Record) { began() }
	r, err := s.Run(ctx, requests(true))
	lock.Close() // a stop waits for it, and the messages may go to a reader that has stalled
	end := ended(ch.place, r)
	if code := exitError(0); err != nil && errors.As(end, &code) { // which has no message
		c.say("%v", err)
	}
	return errors.Join(err, end)
}

// ended returns the end of a process in the foreground as an error with bpjob's exit code.
func ended(p place.Process, r place.Record) error {
	switch {
	case r.Reason != "" || r.Exit.Cause == life.NodeWentDown || r.Exit.Cause == life.HookFailed || r.Exit.Cause == life.HookTimedOut:
		return &failedError{why(p, r), max(1, r.Exit.Code)}
	case r.Exit.Cause != "" && r.Exit.Signal != 0:
		return &failedError{why(p, r), codeSignal + r.Exit.Signal}
	case r.Exit.Cause != "":
		return &failedError{why(p, r), r.Exit.Code}
	case r.Exit.Signal != 0:
		return exitError(codeSignal + r.Exit.Signal)
	case r.Exit.Code != 0:
		return exitError(r.Exit.Code)
	}
	return nil
}

// failedError is a failure with its own exit code.
type failedError struct {
	text string
	code int
}

func (e *failedError) Error() string { return e.text }

package bpjob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// sinceFlag is the option with the time at which the service was to start a process: it has no effect
// if the process was stopped after that.
const sinceFlag = "since"

func (c *Command) startCommand() *cobra.Command {
	var since string
	cmd, s := forJob("start [-p process] [-N nodes] job", "Start a process of a job",
		c.asRoot(func(ctx context.Context, s selection) error { return c.start(ctx, s, since) }))
	cmd.Flags().StringVar(&since, sinceFlag, "", "")
	_ = cmd.Flags().MarkHidden(sinceFlag) // there is such a flag
	return s.onNodes(cmd)
}

// start starts a process, unless it runs.
func (c *Command) start(ctx context.Context, s selection, since string) error {
	ch, err := c.choose(ctx, s)
	if err != nil {
		return err
	}
	return c.request(ch.place, func(c *Command) error {
		if stopped, err := stoppedSince(ch.place, since); err != nil || stopped {
			return err
		}
		running, err := c.awaitStart(ctx, ch)
		if err != nil || running {
			return err
		}
		return c.startSupervisor(ch)
	})
}

// stoppedSince reports whether a process was stopped after a time; empty: it was not.
func stoppedSince(p place.Process, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	since, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return false, fmt.Errorf("--%s: %w", sinceFlag, err)
	}
	r, err := p.Read()
	return r.State == life.Stopped && r.Since.After(since), err
}

// request carries out a request for a process, while other requests for it wait. What it says is
// printed afterwards: they do not wait for a reader of this output.
func (c *Command) request(p place.Process, do func(*Command) error) error {
	lock, err := p.Request()
	if err != nil {
		return err
	}
	return c.perform(lock, do)
}

// perform carries out a request, and releases its lock.
func (c *Command) perform(lock *place.Lock, do func(*Command) error) error {
	var said bytes.Buffer
	quiet := *c
	quiet.Stderr = &said
	err := do(&quiet)
	lock.Close()
	_, _ = said.WriteTo(c.Stderr) // there is no better place to report an error
	return err
}

// look is the interval at which a state that is about to change is read.
const look = 20 * time.Millisecond

// awaitStart reports whether the process runs, once its supervisor has finished its current start
// or stop. A supervisor that waits before the next run knows the job file and the nodes of an
// earlier start: it is ended, and another one takes its place.
func (c *Command) awaitStart(ctx context.Context, ch *chosen) (running bool, err error) {
	for ; ; time.Sleep(look) {
		r, alive, err := lookAt(ch.place)
		switch {
		case err != nil || !alive:
			return false, err
		case r.State == life.Running:
			c.say("process %v is running already", ch.place)
			return true, nil
		case r.State == life.Waiting:
			if _, err := c.supervisor(ch); err != nil { // before the wait is ended
				return false, err
			}
			return false, c.endForStart(ctx, ch)
		}
	}
}

// endForStart ends a process and its supervisor. Signals are held until another supervisor has been started.
func (c *Command) endForStart(ctx context.Context, ch *chosen) error {
	ch.release = holdSignals()
	err := c.end(ctx, ch.place)
	if err != nil {
		ch.release()
	}
	return err
}

// startSupervisor starts a supervisor, and returns when the process runs. The supervisor has its lock
// from the beginning: if this start is broken off, a stop finds it.
func (c *Command) startSupervisor(ch *chosen) error {
	defer ch.release()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	lock, err := ch.place.Supervise()
	if err != nil {
		return err
	}
	defer lock.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	args := []string{"supervise", "-p", ch.place.Process, ch.place.Name}
	if ch.wanted != "" {
		args = append(args, "-N", ch.wanted)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{reportFD - 3: to, lockFD - 3: lock.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	ch.release()
	to.Close()
	lock.Close()
	if err != nil {
		return fmt.Errorf("start the supervisor of %v: %w", ch.place, err)
	}
	var r report
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return fmt.Errorf("the supervisor of %v ended while it started the process", ch.place)
	}
	if !r.Running {
		_ = cmd.Wait() // it is about to end
		return errors.New(r.Error)
	}
	return nil
}

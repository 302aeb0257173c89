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

func (c *Command) startCommand() *cobra.Command {
	cmd, s := forJob("start [-p process] [-N nodes] job", "Start a process of a job", c.asRoot(c.start))
	return s.onNodes(cmd)
}

// start starts a process, unless it runs.
func (c *Command) start(ctx context.Context, s selection) error {
	ch, err := c.choose(ctx, s)
	if err != nil {
		return err
	}
	return c.request(ch.place, func(c *Command) error {
		running, err := c.awaitStart(ctx, ch)
		if err != nil || running {
			return err
		}
		return c.startSupervisor(ch)
	})
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
			return false, c.end(ctx, ch.place)
		}
	}
}

// startSupervisor starts a supervisor, and returns when the process runs.
func (c *Command) startSupervisor(ch *chosen) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	cmd := exec.Command(exe, "supervise", "-p", ch.place.Process, "-N", ch.wanted, ch.place.Name)
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{to}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	to.Close()
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

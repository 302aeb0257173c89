package bpjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

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
	lock, err := ch.place.Request()
	if err != nil {
		return err
	}
	defer lock.Close()
	running, err := c.startAgain(ch.place)
	if err != nil || running {
		return err
	}
	return c.startSupervisor(ch)
}

// look is the interval at which a state that is about to change is read.
const look = 20 * time.Millisecond

// startAgain reports whether the process runs, once its supervisor has finished its current start
// or stop. A supervisor that waits before the next run starts it at once.
func (c *Command) startAgain(p place.Process) (running bool, err error) {
	var asked uint64 // the run that was over when the start was requested
	for ; ; time.Sleep(look) {
		alive, err := p.Supervised()
		if err != nil || !alive {
			return false, err
		}
		r, err := p.Read()
		if err != nil {
			return false, err
		}
		switch {
		case r.State == life.Running:
			if asked == 0 {
				c.say("process %v is running already", p)
			}
			return true, nil
		case r.State == life.Waiting && asked == 0:
			asked = r.Run
			if err := signalSupervisor(p, r, unix.SIGUSR1); err != nil {
				return false, err
			}
		case r.State == life.Waiting && r.Run > asked: // it ran, but ended soon
			return true, nil
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

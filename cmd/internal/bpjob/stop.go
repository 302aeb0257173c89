package bpjob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/file"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
	"bproc/internal/job/supervise"
	"bproc/internal/procstat"
)

func (c *Command) stopCommand() *cobra.Command {
	cmd, _ := forJob("stop [-p process] job", "Stop a process of a job", c.asRoot(c.stop))
	return cmd
}

func (c *Command) stop(ctx context.Context, s selection) error {
	p, err := at(s)
	if err == nil {
		err = c.mayStop(p)
	}
	if err != nil {
		return err
	}
	if err := known(p); err != nil {
		return err
	}
	lock, err := p.TryRequest()
	ended := false
	if errors.Is(err, unix.EAGAIN) {
		lock, ended, err = endStart(p)
	}
	if err != nil {
		return err
	}
	return c.perform(lock, func(c *Command) error {
		if alive, err := p.Supervised(); ended && err == nil && !alive {
			return nil
		}
		return c.end(ctx, p)
	})
}

// endStart waits until no other request for a process is under way, and ends each start that one of
// them makes meanwhile: a start may take long. It reports whether there was one.
func endStart(p place.Process) (lock *place.Lock, ended bool, err error) {
	came := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(func() {
		for asked := 0; ; {
			r, alive, err := lookAt(p)
			if err == nil && alive && r.State == life.Starting && r.Supervisor != asked {
				if sent, err := signalSupervisor(p, r, unix.SIGTERM); err == nil && sent {
					asked, ended = r.Supervisor, true
				}
			}
			select {
			case <-came:
				return
			case <-time.After(look):
			}
		}
	})
	lock, err = p.Request()
	close(came)
	ending.Wait()
	return lock, ended, err
}

func (c *Command) restartCommand() *cobra.Command {
	cmd, s := forJob("restart [-p process] [-N nodes] job", "Stop a process of a job, if it runs, and start it", c.asRoot(c.restart))
	return s.onNodes(cmd)
}

// restart stops a process and starts it, and holds off other requests in between.
func (c *Command) restart(ctx context.Context, s selection) error {
	ch, err := c.choose(ctx, s)
	if err != nil {
		return err
	}
	if _, err := c.supervisor(ch); err != nil { // before the process is ended
		return err
	}
	return c.request(ch.place, func(c *Command) error {
		alive, err := ch.place.Supervised()
		if err == nil && alive {
			err = c.endForStart(ctx, ch)
		}
		if err != nil {
			return err
		}
		return c.startSupervisor(ch)
	})
}

// known returns an error for a process that is in no job file and was never started.
func known(p place.Process) error {
	r, err := p.Read()
	if err != nil || r.Run > 0 {
		return err
	}
	job, _, err := read(p.Job)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(job.Processes, func(f file.Process) bool { return f.Name == p.Process }) {
		return fmt.Errorf("process %q not present in job configuration (%s)", p.Process, p.File())
	}
	return nil
}

// end ends a process and its supervisor. The caller holds the lock for requests.
func (c *Command) end(ctx context.Context, p place.Process) error {
	r, alive, err := askToEnd(p)
	if err != nil {
		return err
	}
	if !alive {
		return c.remains(ctx, p, r)
	}
	gone, err := p.Supervise() // acquired when the supervisor has ended
	if err != nil {
		return err
	}
	defer gone.Close()
	r, err = p.Former()
	switch {
	case err != nil:
		return err
	case r.Left: // the supervisor was killed, or could not record the end
		return c.remains(ctx, p, r)
	case r.Exit.Cause == life.ShutdownTimedOut:
		c.say("process %v did not end in time and was killed", p)
	}
	return nil
}

// recordTimeout is how long a supervisor may have its lock before its record names it.
const recordTimeout = 5 * time.Second

// askToEnd asks the supervisor of a process to end, and reports whether it has one.
func askToEnd(p place.Process) (r place.Record, alive bool, err error) {
	for deadline := time.Now().Add(recordTimeout); ; time.Sleep(look) {
		r, alive, err = lookAt(p)
		if err != nil || !alive {
			return r, alive, err
		}
		sent, err := signalSupervisor(p, r, unix.SIGTERM)
		switch {
		case err != nil || sent:
			return r, true, err
		case time.Now().After(deadline):
			return r, true, fmt.Errorf("process %v has a supervisor that its record does not name: find it with ps, and end it with kill", p)
		}
	}
}

// remains records that a process without a supervisor is stopped, so that the service does not
// start it again. It also ends what a killed supervisor has left behind.
func (c *Command) remains(ctx context.Context, p place.Process, r place.Record) error {
	if r.Left {
		if err := c.clear(ctx, p, r.Node); err != nil {
			return err
		}
	} else {
		c.say("process %v is not running", p)
	}
	r.Left, r.State, r.Since, r.Boot = false, life.Stopped, time.Now(), procstat.BootID()
	return p.Write(r)
}

// clear ends what remains of a process on a node.
func (c *Command) clear(ctx context.Context, p place.Process, node client.NodeID) error {
	s := supervise.Supervisor{Client: new(client.Client), Place: p, Spec: spec.Spec{Root: p.Root, Job: p.Name, Process: p.Process}}
	var err error
	if s.Jailer, s.Copier, err = programs(); err != nil {
		return err
	}
	if err := s.Clear(ctx, node); err != nil {
		return fmt.Errorf("end what is left of process %v: %w", p, err)
	}
	return nil
}

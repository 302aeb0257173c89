package bpjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// callerVariable is the environment variable with the user on whose behalf root acts. The service
// sets it (serve.go), and the programs that it starts inherit it.
const callerVariable = "BPJOB_CALLER"

// identify determines the calling user.
func (c *Command) identify() error {
	if c.BPM {
		if err := likeBPM(); err != nil {
			return err
		}
	}
	text := os.Getenv(callerVariable)
	if text == "" || os.Geteuid() != 0 {
		c.caller = uint32(os.Geteuid())
		return nil
	}
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("%s=%s must be a user's number", callerVariable, text)
	}
	c.caller, c.behalf = uint32(uid), true
	return nil
}

// asRoot wraps a command that only root can carry out: for an ordinary user the service does it.
func (c *Command) asRoot(do func(context.Context, selection) error) func(context.Context, selection) error {
	return func(ctx context.Context, s selection) error {
		if os.Geteuid() == 0 {
			return do(ctx, s)
		}
		return c.delegate()
	}
}

// owns returns an error if the caller may not work with a job.
func (c *Command) owns(j place.Job) error {
	if c.caller == 0 {
		return nil
	}
	f, owner, err := open(j)
	if err != nil {
		return err
	}
	f.Close()
	if owner != c.caller {
		return fmt.Errorf("job %s is not yours: only root and the owner of %s can do this", j.Name, j.File())
	}
	return nil
}

// mayStop returns an error if the caller may not stop a process. The user who has started it may,
// whatever has become of the job file, while it runs.
func (c *Command) mayStop(p place.Process) error {
	err := c.owns(p.Job)
	if err == nil {
		return nil
	}
	r, failed := p.Read()
	runs := r.State.Active() || r.State == life.Waiting || r.Left
	if failed == nil && runs && r.Caller == c.caller {
		return nil
	}
	return err
}

// permit returns an error if an ordinary user asks for a feature reserved to root, or if the service acts for a
// user who no longer owns the job file.
func (c *chosen) permit() error {
	switch {
	case c.owner != c.caller && (c.behalf || c.caller != 0):
		return errors.New("the job file has got another owner meanwhile")
	case c.caller == 0:
		return nil
	}
	p := &c.process
	for _, key := range []struct {
		has  bool
		name string
	}{
		{len(p.Capabilities) > 0, "capabilities"},
		{p.Unsafe.Privileged, "unsafe.privileged"},
		{len(p.Unsafe.UnrestrictedVolumes) > 0, "unsafe.unrestricted_volumes"},
	} {
		if key.has {
			return fmt.Errorf("process %v: only root can start what has %s", c.place, key.name)
		}
	}
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if p.Limits.OpenFiles > most.Max {
		return fmt.Errorf("process %v: only root can start what has more than %d open files", c.place, most.Max)
	}
	return nil
}

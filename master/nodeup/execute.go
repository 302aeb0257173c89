package nodeup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
	"bproc/wire"
)

// pipeTime is how long the output of a script is read after its end: processes that it has left
// behind may hold it open.
const pipeTime = 2 * time.Second

// execute runs a program to its end, in a process group of its own, which is killed when the
// program is late or the context ends. The output goes to the node's log.
func (r *Runner) execute(ctx context.Context, node wire.NodeID, argv, env []string, deadline time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("it has not ended within %v, and was killed", deadline))
	defer cancel()
	r.note(node, "%s", strings.Join(argv, " "))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), env...)
	out := &output{r: r, node: node}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = pipeTime
	err := ownthread.Do(cmd.Run)
	switch {
	case ctx.Err() != nil && err != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it may leave processes behind
	}
	return reason(err)
}

// output writes the output of a program to the log of its node. The program does not fail if its
// log cannot be written.
type output struct {
	r      *Runner
	node   wire.NodeID
	failed bool
}

func (o *output) Write(text []byte) (int, error) {
	if _, err := o.r.logs.node(o.node).Write(text); err != nil && !o.failed {
		o.failed = true
		o.r.log.Error("something is not in the log of a node", "node", o.node, "err", err)
	}
	return len(text), nil
}

// reason returns why a program has failed, without its name.
func reason(err error) error {
	var failed *os.PathError
	var exit *exec.ExitError
	switch {
	case errors.As(err, &failed) && errors.Is(err, unix.EACCES):
		return fmt.Errorf("it cannot be executed (%w): make it executable with 'chmod +x'", failed.Err)
	case errors.As(err, &failed) && errors.Is(err, unix.ENOEXEC):
		return fmt.Errorf("it cannot be executed (%w): its first line must be one like #!/bin/sh", failed.Err)
	case errors.As(err, &failed):
		return failed.Err
	case errors.As(err, &exit):
		return exit // "exit status 1", "signal: killed"
	}
	return err
}

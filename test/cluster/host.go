package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	"bproc/test/limit"
)

// hostTimeout is how long a command on the host may take: the longest are compilers, on a machine
// that is busy with other tests.
const hostTimeout = 5 * time.Minute

// hostOutput runs a command on the host, with variables added to its environment, and
// returns its standard output.
func hostOutput(env []string, name string, args ...string) (string, error) {
	timeout := limit.Scaled(hostTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("not done after %v", timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = outputDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", name, err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// within runs f, and gives up waiting for it after limit.
func within(limit time.Duration, what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // a call that never returns is reported, and ends with the process
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s: not within %v", what, limit)
	}
}

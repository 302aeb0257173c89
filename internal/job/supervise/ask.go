package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/spec"
)

// endDelay is how long the end of a bpjail that was killed is waited for.
const endDelay = 5 * time.Second

// ask runs bpjail for an action that executes no program, and returns its output. A node may say
// anything for any time: the answer has a bound, and the context and startTimeout hold to its end.
// A bpjail that does not end then is left to itself, and so is the goroutine that waits for its ghost.
func (s *Supervisor) ask(ctx context.Context, node client.NodeID, sp spec.Spec) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("node %d: bpjail takes more than %v", node, startTimeout))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd, err := s.command(node, sp, "bpjail")
	if err != nil {
		return nil, err
	}
	out, bad := &bounded{most: spec.MaxAnswer, full: end}, &clipped{most: maxWhy}
	cmd.Stdout, cmd.Stderr = out, bad
	if err := cmd.Start(ctx); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		status, err := cmd.Wait()
		if err == nil && status.ExitCode() != 0 {
			err = fmt.Errorf("node %d: %w", node, because(string(bad.text), errors.New("bpjail was killed")))
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return out.text, err
	case <-ctx.Done():
	}
	_ = cmd.Signal(unix.SIGKILL) // it may have ended
	cmd.Leave()
	select {
	case <-ended: //nolint:errcheck // it was ended
	case <-time.After(endDelay):
	}
	return nil, context.Cause(ctx)
}

// bounded keeps what is written to it, and refuses more than most bytes. Then it calls full.
type bounded struct {
	text []byte
	most int
	full func(error)
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.most-len(b.text) {
		err := fmt.Errorf("bpjail says more than %d bytes", b.most)
		b.full(err)
		return 0, err
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// clipped keeps the first most bytes of what is written to it.
type clipped struct {
	text []byte
	most int
}

func (c *clipped) Write(p []byte) (int, error) {
	c.text = append(c.text, p[:min(len(p), c.most-len(c.text))]...)
	return len(p), nil
}

package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// tableCall is a request for the node table. Its results may be read when done is closed.
type tableCall struct {
	made time.Time
	done chan struct{}
	list []wire.Node
	here *wire.NodeID
	err  error
}

// errSilent is the error while the master has not answered an earlier call.
var errSilent = fmt.Errorf("the master does not answer: %w", unix.ETIMEDOUT)

// table returns the nodes to look at. It does not wait again for a master that has not answered an
// earlier call, because this node has been cut off.
func (s *Source) table(ctx context.Context) ([]wire.Node, error) {
	call := &tableCall{made: time.Now(), done: make(chan struct{})}
	s.mu.Lock()
	waits := s.called != nil
	if !waits {
		s.called = call
	}
	s.mu.Unlock()
	if waits {
		return nil, errSilent
	}
	select {
	case s.asks <- func(ctx context.Context) { s.call(ctx, call) }:
	case <-ctx.Done():
		s.answered(call)
		return nil, context.Cause(ctx)
	}
	select {
	case <-call.done:
		return s.on(call.here, call.list), call.err
	case <-ctx.Done():
		return nil, errors.Join(errSilent, context.Cause(ctx))
	}
}

// silentLocked reports whether the master has not answered in time, and so will not answer another
// question soon.
func (s *Source) silentLocked() bool {
	return s.called != nil && time.Since(s.called.made) > patience
}

// call asks the master.
func (s *Source) call(ctx context.Context, call *tableCall) {
	ctx, cancel := context.WithTimeout(ctx, forgotten)
	defer cancel()
	if call.list, call.here, call.err = s.client.NodesSeen(ctx); call.err != nil {
		call.err = fmt.Errorf("nodes of the cluster: %w", call.err)
	}
	s.answered(call)
}

// answered ends a call.
func (s *Source) answered(call *tableCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called = nil
	close(call.done)
}

package supervise

import (
	"context"
	"time"

	"bproc/internal/job/spec"
)

// sender is the task that sends a signal to all processes of the control group.
type sender struct {
	signal int
	stop   context.CancelFunc
	done   chan struct{}
}

// idle reports whether the task has ended.
func (s *sender) idle() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// noSender returns a sender that has ended.
func noSender() *sender {
	s := &sender{stop: func() {}, done: make(chan struct{})}
	close(s.done)
	return s
}

// send has a signal sent to all processes of the control group. The signal is repeated until it has
// been sent, since the master may be away, or may just have been restarted and not know the node
// yet. The next signal and the end of the run end that. There is one sender at a time, so signals
// keep their order.
func (s *Supervisor) send(ctx context.Context, sig int) {
	former := s.sender
	if former.signal == sig && !former.idle() {
		return
	}
	former.stop()
	ctx, stop := context.WithCancel(ctx)
	s.sender = &sender{sig, stop, make(chan struct{})}
	node, sp, done := s.record.Node, s.spec(spec.Kill), s.sender.done
	sp.Signal = sig
	s.tasks.Go(func() {
		defer close(done)
		defer stop()
		<-former.done
		if err := repeat(ctx, func() error {
			_, err := s.ask(ctx, node, sp)
			return err
		}); err != nil && !isDown(err) && !isUncertain(err) {
			s.logs.fail(err)
		}
	})
}

// repeat calls f until it succeeds or the context is done. It returns the last error from before
// that.
func repeat(ctx context.Context, f func() error) (last error) {
	for ctx.Err() == nil {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
		}
	}
	return last
}

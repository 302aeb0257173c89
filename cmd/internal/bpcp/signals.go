package bpcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/defaultaction"
)

// signalError is the cause of an interrupted copy.
type signalError unix.Signal

func (e signalError) Error() string { return fmt.Sprintf("caught %v", unix.Signal(e)) }

// mortal lists the signals that end a copy.
var mortal = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// catcher cancels a copy on a mortal signal, unless the signal was ignored from the start.
type catcher struct {
	incoming chan os.Signal
	cancel   context.CancelCauseFunc
}

func catch(ctx context.Context) (context.Context, *catcher) {
	c := &catcher{incoming: make(chan os.Signal, 1)}
	ctx, c.cancel = context.WithCancelCause(ctx)
	for _, sig := range mortal {
		if !signal.Ignored(sig) {
			signal.Notify(c.incoming, sig)
		}
	}
	go func() {
		for sig := range c.incoming {
			c.cancel(signalError(sig.(unix.Signal)))
		}
	}()
	return ctx, c
}

func (c *catcher) stop() {
	signal.Stop(c.incoming)
	close(c.incoming)
	c.cancel(nil)
}

// dieOf ends this process by the default action of the signal that ended the copy, if one did.
func (c *catcher) dieOf(ctx context.Context) {
	var caught signalError
	if !errors.As(context.Cause(ctx), &caught) {
		return
	}
	defaultaction.Take(unix.Signal(caught)) // does not return
}

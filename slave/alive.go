package slave

import (
	"context"
	"errors"
	"time"
)

const (
	// initPatience is how long init may take to answer while its space is not held. Init waits for
	// no other process, so an init that takes longer hangs or is stopped.
	initPatience = 10 * time.Second
	// initLooks is the time from an answer of init to the next question.
	initLooks = 2 * time.Second
)

// errInitHangs is the reason to give up a space whose init does not answer.
var errInitHangs = errors.New("init of the process space does not answer")

// initWatch asks init again and again whether it lives. Without init no process of the space can
// start, be signalled or be known to end. The daemon then gives up the space, and the next daemon
// makes another.
type initWatch struct {
	ask  func(ctx context.Context) error // returns when init has answered
	held func() uint64                   // counts how often the space was held and let go; odd: it is held
}

// run returns an error when init hangs.
func (w *initWatch) run(ctx context.Context) error {
	for {
		held := w.held()
		err := within(ctx, initPatience, w.ask)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errInitHangs) && held%2 == 0 && w.held() == held:
			return err
		case err != nil && !errors.Is(err, errInitHangs):
			return nil // the space has ended; other routines report that
		}
		select {
		case <-time.After(initLooks):
		case <-ctx.Done():
			return nil
		}
	}
}

// within calls ask with a time limit.
func within(ctx context.Context, patience time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errInitHangs)
	defer cancel()
	return ask(ctx)
}

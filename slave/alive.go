package slave

import (
	"context"
	"errors"
	"time"
)

const (
	// initPatience is how long init may take to answer while its space is not held. It
	// waits for nobody; what takes longer hangs, or is stopped.
	initPatience = 10 * time.Second
	// initLooks is how long after an answer init is asked again.
	initLooks = 2 * time.Second
)

// errInitHangs is why a space is given up whose init does not answer.
var errInitHangs = errors.New("init of the process space does not answer")

// initWatch asks init again and again whether it lives. Without it nothing starts in
// the space, is signalled or known to end: the space is given up then, and the next
// daemon makes another.
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
			return nil // the space has ended, which others tell
		}
		select {
		case <-time.After(initLooks):
		case <-ctx.Done():
			return nil
		}
	}
}

// within asks init, which has patience to answer.
func within(ctx context.Context, patience time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errInitHangs)
	defer cancel()
	return ask(ctx)
}

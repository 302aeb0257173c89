package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"bproc/wire"
)

// rehearse makes a process space with everything that serves it, and takes it away again. A node on
// which that fails must report it before it has used up its token.
func rehearse(ctx context.Context, cfg Config, log *slog.Logger) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.patience.bound(startTime), errors.New("it does not come up"))
	defer cancel()
	cfg.Record = ""
	cfg.Runtime += ".rehearsal" // the space of a former identity may have processes
	n, err := newNode(ctx, cfg, wire.Block{}, log)
	if err == nil {
		err = n.destroy(ctx)
	}
	if err != nil {
		return fmt.Errorf("this machine cannot be a node, and has not joined: %w", err)
	}
	return nil
}

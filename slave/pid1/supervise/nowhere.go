package supervise

import (
	"context"

	"bproc/wire"
)

// nowhere is the front end of a supervisor that has no way to it. Nobody is told
// of changes; calls are not answered, so they do not come here.
type nowhere struct{}

func (nowhere) Call(ctx context.Context, _ *wire.Call) (*wire.Return, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
func (nowhere) Ours(wire.PID) bool                              { return false }
func (nowhere) Group(context.Context, wire.PID, wire.PID) error { return nil }
func (nowhere) Sync(context.Context) error                      { return nil }
func (nowhere) Regroups(wire.PID)                               {}
func (nowhere) Unsettled() bool                                 { return false }
func (nowhere) Settle(context.Context)                          {}
func (nowhere) Recredits(wire.PID)                              {}
func (nowhere) Reaper(wire.PID, bool)                           {}
func (nowhere) Death(wire.PID, int)                             {}

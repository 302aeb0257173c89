package supervise

import (
	"context"
	"os"
	"time"

	"bproc/wire"
)

// nowhere is the front end of a supervisor without a connection to it. Calls that need the front
// end are left to the next supervisor, so the methods that wait are not called.
type nowhere struct {
	wanted  bool      // by the present call, which has a change to report
	dropped time.Time // when the calls of callers that have gone were last dropped
}

func (*nowhere) Call(ctx context.Context, _ uint64, _ *wire.Call) (*wire.Return, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (*nowhere) Shadow(ctx context.Context, _ wire.PID, _ uint32, _ int) (*os.File, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (n *nowhere) Shadowed(wire.PID) (wire.PID, bool)            { n.wanted = true; return 0, false }
func (*nowhere) Ours(wire.PID) bool                              { return false }
func (*nowhere) Group(context.Context, wire.PID, wire.PID) error { return nil }
func (*nowhere) Sync(context.Context) error                      { return nil }
func (n *nowhere) Regroups(wire.PID)                             { n.wanted = true }
func (*nowhere) Unsettled() bool                                 { return false }
func (*nowhere) Settle(context.Context)                          {}
func (n *nowhere) Recredits(wire.PID)                            { n.wanted = true }
func (n *nowhere) Reaper(wire.PID, bool)                         { n.wanted = true }
func (n *nowhere) Death(wire.PID, int)                           { n.wanted = true }

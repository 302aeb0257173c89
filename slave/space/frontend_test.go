package space_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// frontEnd is a made-up front end with one process.
type frontEnd struct {
	mu    sync.Mutex
	said  []string
	knows bool // the answer about nobodyAnswers

	silent chan error // gets how a call to nobodyAnswers ended
}

const (
	frontEndPID   wire.PID = 4000
	nobodyAnswers wire.PID = 4001 // calls about it are never answered
	nobodyCounts  wire.PID = 4002 // nor are these, and their ends are not reported
)

func newFrontEnd() *frontEnd { return &frontEnd{silent: make(chan error, 2)} }

func (f *frontEnd) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// told returns what was said since the last call.
func (f *frontEnd) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := f.said
	f.said = nil
	return said
}

func (f *frontEnd) answers() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.knows
}

// await waits until something is said that begins with what, and returns it.
func (f *frontEnd) await(t *testing.T, what string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		said := f.told()
		if i := slices.IndexFunc(said, func(s string) bool { return strings.HasPrefix(s, what) }); i >= 0 {
			return said[i]
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody says %q", what)
		}
	}
}

func (f *frontEnd) Call(ctx context.Context, id uint64, c *wire.Call) (*wire.Return, error) {
	f.say("call %d of %d %v", c.Op, c.Caller, c.Args)
	if c.NoKill {
		f.say("without CAP_KILL")
	}
	if len(c.Info) > 0 {
		f.say("info %v", c.Info[:32])
	}
	switch {
	case c.Op == wire.CallGetppid:
		return &wire.Return{Value: 1}, nil
	case len(c.Args) > 0 && c.Args[0] == int64(nobodyAnswers):
		f.say("waits %d", id)
		if f.answers() {
			return &wire.Return{Value: 7}, nil
		}
		<-ctx.Done()
		f.silent <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	case len(c.Args) > 0 && c.Args[0] == int64(nobodyCounts):
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case c.Op == wire.CallKill && c.Args[0] <= 0:
		return &wire.Return{}, nil
	case len(c.Args) == 0 || c.Args[0] != int64(frontEndPID):
		return &wire.Return{Errno: uint32(unix.ESRCH)}, nil
	case c.Op == wire.CallGetpgid:
		return &wire.Return{Value: 3999}, nil
	case c.Op == wire.CallGetsid:
		return &wire.Return{Value: 3998}, nil
	}
	return &wire.Return{}, nil
}

func (f *frontEnd) Ours(wire.PID) bool { return false }
func (f *frontEnd) Shadow(context.Context, wire.PID, uint32, int) (*os.File, error) {
	return nil, unix.ENFILE
}
func (f *frontEnd) Shadowed(wire.PID) (wire.PID, bool) { return 0, false }
func (f *frontEnd) Regroups(pid wire.PID)              { f.say("regroups %d", pid) }
func (f *frontEnd) Unsettled() bool                    { return false }
func (f *frontEnd) Settle(context.Context)             {}
func (f *frontEnd) Recredits(pid wire.PID)             { f.say("recredits %d", pid) }
func (f *frontEnd) Reaper(pid wire.PID, on bool)       { f.say("reaper %d %v", pid, on) }
func (f *frontEnd) Death(pid wire.PID, signal int)     { f.say("death %d %d", pid, signal) }

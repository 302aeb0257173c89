package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"bproc/ghost"
)

// TestKeeperComesUp has a keeper fail while it starts. It is started again, for a while.
func TestKeeperComesUp(t *testing.T) {
	killed := exec.CommandContext(t.Context(), "sh", "-c", "kill -9 $$").Run()
	ended := exec.CommandContext(t.Context(), "sh", "-c", "exit 1").Run()
	missing := exec.CommandContext(t.Context(), "/no/such/program").Run()
	const ever = 1 << 30
	for _, tt := range []struct {
		name   string
		passes func(error) bool
		err    error
		times  int
		up     bool
	}{
		{"killed at first", wasKilled, killed, 3, true},
		{"cannot at first", wasKilled, ended, 3, false},
		{"missing at first", wasKilled, missing, 3, false},
		{"killed later", always, killed, 3, true},
		{"cannot later", always, ended, 3, true},
		{"never", always, killed, ever, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				starts := 0
				m := &Master{log: slog.New(slog.DiscardHandler)}
				m.startKeeper = func(context.Context, Config) (*ghost.Client, error) {
					if starts++; starts <= tt.times {
						return nil, fmt.Errorf("it does not come up: %w", tt.err)
					}
					return new(ghost.Client), nil
				}
				begun := time.Now()
				k, err := m.connectKeeper(t.Context(), tt.passes)
				if (k != nil) != tt.up || (err == nil) != tt.up || err != nil && !errors.Is(err, tt.err) {
					t.Errorf("got %v after %d starts, %v", err, starts, time.Since(begun))
				}
				if took := time.Since(begun); took > 2*keeperTime {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // the master is told to end meanwhile
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := &Master{log: slog.New(slog.DiscardHandler)}
		m.startKeeper = func(context.Context, Config) (*ghost.Client, error) { return nil, killed }
		if _, err := m.connectKeeper(ctx, always); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the master ends", err)
		}
	})
}

package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bproc/ghost"
	"bproc/wire"
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

// TestLastWords has a keeper take nothing any more, report signals and end: the master has them all.
func TestLastWords(t *testing.T) {
	m := newMade(t)
	var log bytes.Buffer
	m.log = slog.New(slog.NewTextHandler(&log, nil))
	socket := filepath.Join(t.TempDir(), "keeper")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent, said := make(chan struct{}), make(chan error, 1)
	go func() { said <- lastWords(l, silent) }()
	m.startKeeper = func(context.Context, Config) (*ghost.Client, error) { return ghost.Dial(socket) }
	k, err := m.connectKeeper(t.Context(), always)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- k.run(t.Context(), m) }()
	for k.out.Put(0, new(wire.GhostTaken)) == nil { // until a write has failed
		k.out.Flush()
		time.Sleep(time.Millisecond)
	}
	close(silent)
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.HasSuffix(err.Error(), ": EOF") && !strings.HasSuffix(err.Error(), "reset by peer") {
		t.Errorf("the connection has ended by %v", err)
	}
	if got := strings.Count(log.String(), "a message that it should not"); got != lastWordsCount {
		t.Errorf("%d of %d messages were read:\n%s", got, lastWordsCount, log.String())
	}
}

const lastWordsCount = 100

// lastWords is a keeper that reads nothing after the greeting, and talks when its master cannot write any more. Its
// messages are none of a keeper, so that each is logged.
func lastWords(l *net.UnixListener, silent <-chan struct{}) error {
	conn, err := l.AcceptUnix()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, _, err := wire.NewReader(conn).Read(); err != nil {
		return err
	}
	if err := errors.Join(wire.Write(conn, 0, new(wire.GhostList)), conn.CloseRead()); err != nil {
		return err
	}
	<-silent
	for range lastWordsCount {
		if err := wire.Write(conn, 0, &wire.GhostSync{PID: 4711}); err != nil {
			return err
		}
	}
	return nil
}

package master

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/ghost"
	"bproc/internal/outbox"
	"bproc/internal/service"
	"bproc/master/core"
)

// keeperConn is the connection to the keeper: a sender for the core, and the goroutine that brings
// the keeper's messages to the core.
type keeperConn struct {
	client *ghost.Client
	out    *outbox.Outbox
}

// startKeeper connects to the keeper, and starts one when none runs.
func startKeeper(ctx context.Context, cfg Config) (*ghost.Client, error) {
	return ghost.Start(ctx, ghost.StartConfig{
		Program: filepath.Join(cfg.Lib, "bpkeeper"),
		Image:   filepath.Join(cfg.Lib, "ghost"),
		Socket:  filepath.Join(cfg.Runtime, "keeper.sock"),
		Log:     filepath.Join(cfg.Runtime, "keeper.log"),
		Scope:   service.Scope("bproc keeper, which holds the ghosts"),
	})
}

// For how long, and at what intervals, a keeper that does not come up is started again.
const (
	keeperTime  = time.Minute
	keeperPause = 100 * time.Millisecond
)

// wasKilled reports whether a signal ended a keeper while it started.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

// always is for a keeper that has come up before: the cause of any failure may pass.
func always(error) bool { return true }

// connectKeeper connects to the keeper, and starts one when none runs. It tries again while it
// fails for a reason that passes.
func (m *Master) connectKeeper(ctx context.Context, passes func(error) bool) (*keeperConn, error) {
	until := time.Now().Add(keeperTime)
	client, err := m.startKeeper(ctx, m.cfg)
	for err != nil && passes(err) && time.Now().Before(until) {
		m.log.Error("the keeper does not come up; it is started again", "err", err)
		select {
		case <-time.After(keeperPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		client, err = m.startKeeper(ctx, m.cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	out := outbox.New(func() { client.Close() })
	out.Open()
	k := &keeperConn{client: client, out: out}
	m.keeper.Store(k)
	return k, nil
}

// run carries messages between the core and the keeper. A keeper that dies has taken signals and reported them: they are
// read to the last one, though no message to it can be written any more.
func (k *keeperConn) run(ctx context.Context, m *Master) error {
	stop := context.AfterFunc(ctx, func() { k.client.Close() })
	defer stop()
	done := make(chan struct{})
	var writing errgroup.Group
	writing.Go(func() error {
		err := k.out.Run(done, k.client, k.client.TryWrite)
		k.client.EndSoon()
		return err
	})
	err := k.read(ctx, m)
	close(done)
	k.out.Close()
	k.client.Close()
	if written := writing.Wait(); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("keeper: %w", written)
	}
	return err
}

// read brings the keeper's messages to the core.
func (k *keeperConn) read(ctx context.Context, m *Master) error {
	for {
		msg, number, err := k.client.Recv()
		if err != nil {
			return fmt.Errorf("keeper: %w", err)
		}
		if err := m.state.step(ctx, core.FromKeeper{Number: number, Message: msg}); err != nil {
			return err
		}
	}
}

// keep holds a connection to the keeper for as long as the master runs. A keeper that has died is
// replaced, and its ghosts come back to the next one.
func (m *Master) keep(ctx context.Context, k *keeperConn) error {
	for {
		err := k.run(ctx, m)
		if ctx.Err() != nil || m.last.Load() {
			return nil
		}
		m.log.Error("the keeper is lost; another is started", "err", err)
		if k, err = m.connectKeeper(ctx, always); err != nil {
			return err
		}
		back := core.KeeperBack{Boot: k.client.Boot(), Held: k.client.Held(), Stopped: k.client.Stopped(), Killed: k.client.Killed()}
		if err := m.state.keeperIs(ctx, k, back); err != nil {
			return errors.Join(err, k.client.Close())
		}
	}
}

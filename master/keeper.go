package master

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"bproc/ghost"
	"bproc/internal/outbox"
	"bproc/internal/service"
)

// keeperConn is the connection to the keeper: a sender for the core, and the
// goroutine that brings the keeper's messages to it.
type keeperConn struct {
	client *ghost.Client
	out    *outbox.Outbox
}

// connectKeeper connects to the keeper, and starts one when none runs.
func (m *Master) connectKeeper(ctx context.Context) (*keeperConn, error) {
	client, err := ghost.Start(ctx, ghost.StartConfig{
		Program: filepath.Join(m.cfg.Lib, "bpkeeper"),
		Image:   filepath.Join(m.cfg.Lib, "ghost"),
		Socket:  filepath.Join(m.cfg.Runtime, "keeper.sock"),
		Log:     filepath.Join(m.cfg.Runtime, "keeper.log"),
		Scope:   service.Scope("bproc keeper, which holds the ghosts"),
	})
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	out := outbox.New(func() { client.Close() })
	out.Open()
	return &keeperConn{client: client, out: out}, nil
}

// run carries messages between the core and the keeper.
func (k *keeperConn) run(ctx context.Context, m *Master) error {
	group, ctx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done); k.out.Close(); k.client.Close() })
	stop := context.AfterFunc(ctx, end)
	defer stop()
	group.Go(func() error {
		defer end()
		return k.out.Run(done, k.client)
	})
	group.Go(func() error {
		defer end()
		for {
			msg, number, err := k.client.Recv()
			if err != nil {
				return fmt.Errorf("keeper: %w", err)
			}
			if err := m.post(ctx, func(core *core) { core.fromKeeper(number, msg) }); err != nil {
				return err
			}
		}
	})
	return group.Wait()
}

// keep holds a connection to the keeper for as long as the master runs. A
// keeper that has died is replaced; the ghosts that it held come back to the
// next one.
func (m *Master) keep(ctx context.Context, k *keeperConn) error {
	for {
		err := k.run(ctx, m)
		if ctx.Err() != nil {
			return nil
		}
		m.log.Error("the keeper is lost; another is started", "err", err)
		if k, err = m.connectKeeper(ctx); err != nil {
			return err
		}
		held, killed, stopped := k.client.Held(), k.client.Killed(), k.client.Stopped()
		if err := m.post(ctx, func(core *core) { core.keeperBack(k.out, held, stopped); core.killed(killed) }); err != nil {
			return errors.Join(err, k.client.Close())
		}
	}
}

package master

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/ghost"
	"bproc/wire"
)

// keeperConn is the connection to the keeper: a sender for the core, and the
// goroutine that brings the keeper's messages to it.
type keeperConn struct {
	client *ghost.Client
	out    *outbox
}

// connectKeeper connects to the keeper, and starts one when none runs.
func (m *Master) connectKeeper(ctx context.Context) (*keeperConn, error) {
	client, err := ghost.Start(ctx, ghost.StartConfig{
		Program: filepath.Join(m.cfg.Lib, "bpkeeper"),
		Image:   filepath.Join(m.cfg.Lib, "ghost"),
		Socket:  filepath.Join(m.cfg.Runtime, "keeper.sock"),
		Log:     filepath.Join(m.cfg.Runtime, "keeper.log"),
	})
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	return &keeperConn{client: client, out: newOutbox(client)}, nil
}

// run carries messages between the core and the keeper.
func (k *keeperConn) run(ctx context.Context, m *Master) error {
	group, ctx := errgroup.WithContext(ctx)
	var once sync.Once
	end := func() { once.Do(func() { k.out.Close(); k.client.Close() }) }
	stop := context.AfterFunc(ctx, end)
	defer stop()
	group.Go(func() error {
		defer end()
		return k.out.Run()
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
		held, killed := k.client.Held(), k.client.Killed()
		if err := m.post(ctx, func(core *core) { core.keeperBack(k.out, held); core.killed(killed) }); err != nil {
			return errors.Join(err, k.client.Close())
		}
	}
}

// keeperBack goes on with a new keeper: it adopts the ghosts that live, and the
// processes of those that died with the old one are killed.
func (c *core) keeperBack(next sender, held []wire.PID) {
	c.keeperLost(next)
	has := make(map[wire.PID]bool, len(held))
	for _, pid := range held {
		has[pid] = true
	}
	for _, p := range c.procs {
		if p.ghost && !has[p.pid] && (p.state == running || p.state == spawning) {
			c.readopt(p)
		}
	}
}

// anyOwner in GhostAdopt stands for a ghost whose image alone tells what it is.
const anyOwner = ^uint32(0)

func (c *core) readopt(p *proc) {
	c.ask(&wire.GhostAdopt{PID: p.pid, UID: anyOwner}, func(errno unix.Errno) {
		if errno != 0 && c.procs[p.pid] == p {
			c.log.Error("a ghost died with its keeper; its process is killed", "node", p.node, "pid", p.pid, "err", errno)
			p.ghost = false
			p.kill()
		}
	})
}

// foundGhosts takes note of the ghosts that a keeper has held since a former
// master. Their processes are on nodes that have yet to connect.
func (c *core) foundGhosts(held []wire.PID, now time.Time) {
	for _, pid := range held {
		c.found[pid] = nil
	}
	c.foundAt = now
	if len(held) > 0 {
		c.log.Info("keeper holds ghosts of a former master", "count", len(held))
	}
}

// killed passes on the SIGKILL of ghosts that are held in their exit: whoever
// was told of it may have been a former master.
func (c *core) killed(pids []wire.PID) {
	for _, pid := range pids {
		c.signal(&wire.GhostSignal{PID: pid, Info: kernelSignal(unix.SIGKILL)})
	}
}

// claim gives a found ghost back to its process.
func (c *core) claim(s *session, pid wire.PID) bool {
	held, ok := c.found[pid]
	if !ok {
		return false
	}
	delete(c.found, pid)
	for _, sig := range held {
		s.put(sig)
	}
	c.add(&proc{pid: pid, node: s.node, sess: s, state: running, ghost: true})
	return true
}

// dropFound ends the found ghosts that no node has claimed: by now their slaves
// have killed the processes.
func (c *core) dropFound(now time.Time) {
	if len(c.found) == 0 || now.Sub(c.foundAt) <= c.lease+leaseMargin {
		return
	}
	c.log.Warn("no node has the processes of some ghosts; the ghosts end", "count", len(c.found))
	for pid := range c.found {
		c.tell(&wire.GhostExit{PID: pid, Status: wire.SignalStatus(int(unix.SIGKILL))})
	}
	clear(c.found)
}

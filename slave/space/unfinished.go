package space

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"
)

// removeUnfinished removes what is left by a daemon that was killed while it made a space.
// libcontainer knows a container only when its state is written. Before that there can be its
// directory, its cgroup, and in that a process of libcontainer's own, which ends by itself or waits
// for the daemon.
func removeUnfinished(ctx context.Context, cfg Config) error {
	group, err := cfg.cgroup()
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was begun
	}
	if err != nil {
		return err
	}
	m, err := manager.New(group)
	if err != nil {
		return err
	}
	if err := killAllIn(ctx, m); err != nil {
		return err
	}
	return errors.Join(m.Destroy(), os.RemoveAll(cfg.stateDir()))
}

// killAllIn ends all processes in a cgroup.
func killAllIn(ctx context.Context, m cgroups.Manager) error {
	for deadline := time.Now().Add(dyingTimeout); ; time.Sleep(look) {
		pids, err := m.GetAllPids()
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV): // it is gone, or going
			return nil
		case err != nil:
			return fmt.Errorf("processes of an unfinished space: %w", err)
		case len(pids) == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("processes %v of an unfinished space do not end", pids)
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
}

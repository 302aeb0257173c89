package master

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// A master reads its configuration again when it is asked to. What slaves are told when they
// connect, what is open, and the layout of process numbers stay until the next master.

// reloads has the configuration in force.
type reloads struct {
	mu      sync.Mutex // one at a time
	current Config
}

var errNoReload = errors.New("this master has no configuration file")

// Reload reads the configuration again, and returns the changes, one a line. After an error nothing
// has changed.
func (m *Master) Reload(ctx context.Context) (changes []string, err error) {
	m.reloads.mu.Lock()
	defer m.reloads.mu.Unlock()
	if m.cfg.Load == nil {
		return nil, errNoReload
	}
	next, err := m.cfg.Load()
	if err != nil {
		return nil, err
	}
	changes = m.reloads.current.changes(&next)
	next.retain(&m.reloads.current)
	m.nodes.Configure(next.scripts())
	m.reloads.current = next
	return changes, m.state.step(ctx, core.Configure{
		Named: next.named(), Rights: *next.rights(), Squash: next.Squash, Ghosts: next.Ghosts, SetUp: next.SetUp != "", PowerTime: next.PowerTime,
	})
}

// named returns the nodes of the configuration as the core wants them.
func (c *Config) named() []core.Named {
	var named []core.Named
	for _, n := range c.Nodes {
		named = append(named, core.Named(n))
	}
	return named
}

func (c *Config) rights() *core.Rights {
	return &core.Rights{Mode: c.Mode, UID: c.UID, GID: c.GID}
}

// retain keeps the values that only the next master changes, so that their changes are reported
// again.
func (c *Config) retain(current *Config) {
	c.Listen, c.Socket, c.Lease, c.Numbers, c.Certificate = current.Listen, current.Socket, current.Lease, current.Numbers, current.Certificate
}

// changes describes what another configuration changes.
func (c *Config) changes(next *Config) []string {
	lines := []string{}
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		d := directives[name]
		if d.show == nil {
			continue
		}
		if now, then := d.show(c), d.show(next); now != then {
			when := ""
			if d.restart {
				when = "; this takes a restart of bpmaster, which loses no node and no process"
			}
			lines = append(lines, fmt.Sprintf("%s: %s, was %s%s", name, then, now, when))
		}
	}
	return append(lines, nodeChanges(c.Nodes, next.Nodes)...)
}

// nodeChanges describes what is changed of nodes.
func nodeChanges(now, then []NodeConfig) (lines []string) {
	was, is := map[wire.NodeID]NodeConfig{}, map[wire.NodeID]NodeConfig{}
	for _, n := range now {
		was[n.ID] = n
	}
	for _, n := range then {
		is[n.ID] = n
		switch before, known := was[n.ID]; {
		case !known:
			lines = append(lines, fmt.Sprintf("node %d: %s, new", n.ID, n.what()))
		case before != n:
			lines = append(lines, fmt.Sprintf("node %d: %s, was %s", n.ID, n.what(), before.what()))
		}
	}
	for _, n := range now {
		if _, still := is[n.ID]; !still {
			lines = append(lines, fmt.Sprintf("node %d: not in the configuration any more, was %s", n.ID, n.what()))
		}
	}
	return lines
}

func (n NodeConfig) what() string { return strings.TrimSpace(n.Name + " " + n.Addr) }

// reload reads the configuration again for a client.
func (c *clientConn) reload(ctx context.Context, _ *wire.Reload) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may have the configuration read again")
	}
	changes, err := c.m.Reload(ctx)
	if err != nil {
		c.m.log.Error("the configuration is not read again", "err", err)
		return c.failed(wire.StageRequest, unix.EINVAL, err.Error())
	}
	c.m.logChanges(changes)
	return c.reply(&wire.Reloaded{Changes: changes})
}

// reloadAtSignals reads the configuration again at each signal, until the context ends.
func (m *Master) reloadAtSignals(ctx context.Context) error {
	for {
		select {
		case <-m.cfg.Reloads:
			changes, err := m.Reload(ctx)
			if err != nil {
				m.log.Error("the configuration is not read again", "err", err)
				continue
			}
			m.logChanges(changes)
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Master) logChanges(changes []string) {
	m.log.Info("the configuration is read again", "count", len(changes))
	for _, line := range changes {
		m.log.Info("the configuration has changed", "change", line)
	}
}

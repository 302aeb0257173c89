package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// StartMaster starts bpmaster on the front end. It returns when the master is ready.
func (c *Cluster) StartMaster(ctx context.Context) error {
	if err := c.Front.WriteFile("/etc/bproc/config", c.config.MasterConfig, 0o644); err != nil {
		return err
	}
	d, err := c.Front.StartDaemon(ctx, true, slices.Concat([]string{"bpmaster"}, c.config.MasterArgs)...)
	if err != nil {
		return err
	}
	c.Master = d
	return nil
}

// Enroll returns a join token for node i.
func (c *Cluster) Enroll(ctx context.Context, i int) (string, error) {
	res, err := c.Front.Exec(ctx, Root, "bpctl", "enroll", "--node", strconv.Itoa(i), "--name", fmt.Sprintf("n%d", i))
	if err != nil {
		return "", err
	}
	if res.Code != 0 {
		return "", fmt.Errorf("bpctl enroll: exit code %d: %s", res.Code, res.Stderr)
	}
	return strings.TrimSpace(res.Stdout), nil
}

// StartSlave starts bpslave on node i. It does not wait until the node is up.
func (c *Cluster) StartSlave(ctx context.Context, i int, args ...string) error {
	argv := slices.Concat([]string{"bpslave"}, c.config.SlaveArgs, args, []string{"front"})
	d, err := c.Nodes[i].StartDaemon(ctx, false, argv...)
	if err != nil {
		return err
	}
	c.Slaves[i] = d
	return nil
}

// KillKeeper ends bpkeeper by SIGKILL.
func (c *Cluster) KillKeeper() error { return c.SignalKeeper(unix.SIGKILL) }

// SignalKeeper sends bpkeeper a signal.
func (c *Cluster) SignalKeeper(sig unix.Signal) error {
	keepers, err := c.Front.Named("bpkeeper")
	if err != nil {
		return err
	}
	if len(keepers) == 0 {
		return errors.New("no bpkeeper runs")
	}
	return c.Front.Kill(keepers[0].PID, sig)
}

// Cut disconnects node i from the network: packets are lost without notice.
func (c *Cluster) Cut(i int) error { return c.network.setPort(c.Nodes[i].Name, false) }

// Heal connects node i again.
func (c *Cluster) Heal(i int) error { return c.network.setPort(c.Nodes[i].Name, true) }

// WaitUp waits until the nodes are up.
func (c *Cluster) WaitUp(ctx context.Context, ids ...int) error {
	return c.WaitState(ctx, "up", ids...)
}

// WaitDown waits until the nodes are down.
func (c *Cluster) WaitDown(ctx context.Context, ids ...int) error {
	return c.WaitState(ctx, "down", ids...)
}

// stateTimeout is how long nodes may take to reach a state.
const stateTimeout = 5 * time.Minute

// WaitState waits until bpstat shows all of the nodes in state.
func (c *Cluster) WaitState(ctx context.Context, state string, ids ...int) error {
	timeout := limit.Scaled(stateTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	for {
		states, err := c.States(ctx)
		if err == nil && !slices.ContainsFunc(ids, func(i int) bool { return states[i] != state }) {
			return nil
		}
		if c.failed.Load() {
			cancel()
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for nodes %v to be %s: %w; they are %v", ids, state, context.Cause(ctx), states), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// States returns the state of each node, as bpstat shows it.
func (c *Cluster) States(ctx context.Context) (map[int]string, error) {
	res, err := c.Front.Exec(ctx, Root, "bpstat")
	if err != nil {
		return nil, err
	}
	if res.Code != 0 {
		return nil, fmt.Errorf("bpstat: exit code %d: %s", res.Code, res.Stderr)
	}
	states := map[int]string{}
	for i, line := range strings.Split(strings.TrimSpace(res.Stdout), "\n") {
		fields := strings.Fields(line)
		if i == 0 || len(fields) < 2 {
			continue // the header, or no nodes
		}
		ids, err := parseNodes(fields[0])
		if err != nil {
			return nil, fmt.Errorf("bpstat: line %q: %w", line, err)
		}
		for _, id := range ids {
			states[id] = fields[1]
		}
	}
	return states, nil
}

// parseNodes parses a list of nodes in bpstat's format: "0-2,5".
func parseNodes(list string) ([]int, error) {
	var ids []int
	for _, item := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(item, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			return nil, err
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(high); err != nil {
				return nil, err
			}
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

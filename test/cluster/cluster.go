package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// leakTimeout is how long the kernel may take to release what has ended.
const leakTimeout = time.Minute

// Config describes a cluster.
type Config struct {
	Nodes int
	// Bare leaves the machines without bproc: they have only networks and namespaces. With Systemd
	// they can write to /usr, where packages can be installed.
	Bare bool
	// NoSlaves starts the master, but no slaves.
	NoSlaves bool
	// MasterConfig is the text of the master's configuration file.
	MasterConfig string
	// MasterArgs and SlaveArgs are added to the command lines of the daemons.
	MasterArgs []string
	SlaveArgs  []string
	// Limited leaves the nodes the trust that they get when they join (bproc(7)). Otherwise it is
	// full: tests compare nodes with one machine, on which root is root everywhere.
	Limited bool
	// OldKernel makes programs in the machines see a kernel with only the calls and flags of Linux
	// 5.10 (package oldkernel).
	OldKernel bool
	// Realtime gives the nodes a share of real time, as on real machines, if the host's kernel has
	// such shares. There is enough for three nodes.
	Realtime bool
	// Systemd makes systemd run the machines and, by the units of the source tree, the daemons:
	// Master and Slaves are nil.
	Systemd bool
}

// Cluster is a front end and nodes.
type Cluster struct {
	Front  *Machine
	Nodes  []*Machine
	Master *Daemon   // the last bpmaster that was started
	Slaves []*Daemon // the last bpslave of each node that was started

	config  Config
	site    *site
	name    string
	dir     string
	prefix  string // install tree on the host; empty if bare
	network *network
	traces  traces
	failed  atomic.Bool // its machines were switched off because a test hung in it
}

// New starts a cluster. All nodes are up when it returns.
func New(ctx context.Context, config Config) (*Cluster, error) {
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	if err := c.startOrStop(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// newCluster returns a cluster that has not been started.
func newCluster(config Config) (*Cluster, error) {
	s, err := theSite()
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, site: s, name: s.nextCluster(), Slaves: make([]*Daemon, config.Nodes)}
	c.dir = filepath.Join(s.dir, c.name)
	if !config.Bare {
		if c.prefix, err = installed(); err != nil {
			return nil, err
		}
	}
	if c.Front, err = newMachine(c, "front", frontAddr); err != nil {
		return nil, err
	}
	for i := range config.Nodes {
		n, err := newMachine(c, fmt.Sprintf("n%d", i), nodeAddr(i))
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, nil
}

// startOrStop starts the cluster, and removes it if that fails.
func (c *Cluster) startOrStop(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("start a cluster of %d nodes: %w", c.config.Nodes, err), c.lastWords(), c.Stop())
	}
	return nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.network, err = newNetwork(); err != nil {
		return err
	}
	var boot errgroup.Group
	for _, m := range c.machines() {
		boot.Go(m.Boot)
	}
	if err := boot.Wait(); err != nil || c.config.Bare {
		return err
	}
	if c.config.Systemd {
		return c.startUnits(ctx)
	}
	if err := c.StartMaster(ctx); err != nil || c.config.NoSlaves {
		return err
	}
	return c.joinAll(ctx)
}

// joinAll enrols all nodes and starts their slaves.
func (c *Cluster) joinAll(ctx context.Context) error {
	var join errgroup.Group
	for i := range c.Nodes {
		join.Go(func() error {
			token, err := c.Enroll(ctx, i)
			if err != nil {
				return err
			}
			return c.StartSlave(ctx, i, "--join", token)
		})
	}
	if err := join.Wait(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, d := range c.Slaves {
		go func() {
			select {
			case <-d.done:
				cancel(fmt.Errorf("%s on %s ended: %w", d.Name, d.machine.Name, d.err))
			case <-ctx.Done():
			}
		}()
	}
	if err := c.WaitUp(ctx, c.NodeIDs()...); err != nil || c.config.Limited {
		return err
	}
	return c.trust(ctx, "full")
}

// trust sets the trust of all nodes.
func (c *Cluster) trust(ctx context.Context, level string) error {
	res, err := c.Front.Exec(ctx, Root, "bpctl", "-S", "all", "--trust", level)
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("bpctl --trust %s: exit code %d: %s", level, res.Code, res.Stderr)
	}
	return err
}

// machines returns the front end and the nodes.
func (c *Cluster) machines() []*Machine {
	return append([]*Machine{c.Front}, c.Nodes...)
}

// NodeIDs returns the numbers of all nodes.
func (c *Cluster) NodeIDs() []int {
	ids := make([]int, len(c.Nodes))
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// hosts returns the lines for /etc/hosts of each machine.
func (c *Cluster) hosts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v front\n", frontAddr)
	for i := range c.config.Nodes {
		fmt.Fprintf(&b, "%v n%d\n", nodeAddr(i), i)
	}
	return b.String()
}

// Stop switches all machines off and removes them, and reports anything that is left.
func (c *Cluster) Stop() error {
	for _, m := range c.machines() {
		c.traces.note(m)
	}
	var off errgroup.Group
	for _, m := range c.machines() {
		off.Go(m.Off)
	}
	err := off.Wait()
	if c.network != nil {
		c.network.close()
	}
	return errors.Join(err, c.traces.check(leakTimeout), os.RemoveAll(c.dir))
}

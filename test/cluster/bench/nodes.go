package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bproc/test/cluster"
	"bproc/test/cluster/manynodes"
)

// nodesFigures are the costs of 4,000 idle nodes. They are simulated: slaves that speak the real
// protocol, in one program (package manynodes), against a real front end. Both share the machine,
// so times to connect include the slaves' share.
func nodesFigures(nodes int) []figure {
	return []figure{
		{name: fmt.Sprint("nodes.connect.", nodes), unit: "s", runs: 1, measure: connectNodes},
		{name: "nodes.connect.cpu", unit: "ms", runs: 1, measure: connectTime},
		{name: fmt.Sprint("bpstat.", nodes), unit: "ms", measure: statNodes},
		{name: "nodes.memory", unit: "KiB", runs: 1, measure: memoryOfNodes},
		{name: fmt.Sprint("fanout.", min(mostNodes, nodes)), unit: "ms", measure: fanoutEffort},
		{name: "nodes.idle", unit: "%", runs: 3, measure: idleNodes},
		{name: fmt.Sprint("nodes.storm.", nodes), unit: "s", runs: 1, measure: stormOfNodes},
	}
}

// crew is a cluster of many simulated nodes.
type crew struct {
	size    int
	cluster *cluster.Cluster
	nodes   *manynodes.Crew
	took    time.Duration // until all were up
	used    float64       // processor seconds of the master for that
	before  float64       // memory of the front end before
	after   float64
}

// manyNodes returns the crew when all nodes are up.
func (b *bench) manyNodes(ctx context.Context) (_ *crew, err error) {
	if b.crew != nil {
		return b.crew, nil
	}
	c, err := cluster.New(ctx, cluster.Config{
		Nodes: 1, NoSlaves: true, MasterConfig: fmt.Sprintf("expected-nodes %d\nlease 120\n", b.nodes),
		MasterArgs: []string{"--state", "/run/bproc-state"}, // in memory: enrolling is not measured
	})
	if err != nil {
		return nil, err
	}
	b.crew = &crew{size: b.nodes, cluster: c}
	return b.crew, b.crew.start(ctx)
}

func (w *crew) start(ctx context.Context) (err error) {
	if w.nodes, err = manynodes.Start(ctx, w.cluster, 0); err != nil {
		return err
	}
	if err := w.nodes.Join(ctx, w.size); err != nil {
		return err
	}
	if w.before, err = w.settledMemory(); err != nil {
		return err
	}
	used, err := w.masterTime()
	if err != nil {
		return err
	}
	begin := time.Now()
	if _, err := w.nodes.Ask("connect"); err != nil {
		return err
	}
	w.took = time.Since(begin)
	now, err := w.masterTime()
	if err != nil {
		return err
	}
	w.used = now - used
	text, err := output(ctx, w.cluster.Front, "bpstat", "-t", "up")
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(text); got != strconv.Itoa(w.size) {
		return fmt.Errorf("%s nodes are up, not %d", got, w.size)
	}
	w.after, err = w.settledMemory()
	return err
}

// settleTime is how long a daemon may take to release memory that it does not need.
const settleTime = 45 * time.Second

func (w *crew) settledMemory() (float64, error) {
	least := math.Inf(1)
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); time.Sleep(time.Second) {
		now, err := w.cluster.Front.Charged()
		if err != nil {
			return 0, err
		}
		least = min(least, now)
	}
	return least, nil
}

func (w *crew) close() error {
	if w == nil {
		return nil
	}
	return errors.Join(w.nodes.Close(), w.cluster.Stop())
}

func connectNodes(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	return w.took.Seconds(), nil
}

// connectTime measures the processor time of the master for each node that connects. Unlike the
// time until all are up, it does not depend on other load of the machine.
func connectTime(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	return 1000 * w.used / float64(w.size), nil
}

// statNodes measures bpstat.
func statNodes(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	spawner, err := program("spawn.c")
	if err != nil {
		return 0, err
	}
	const times = 20
	text, err := output(ctx, w.cluster.Front, spawner, strconv.Itoa(times), "1", "bpstat")
	if err != nil {
		return 0, err
	}
	var micros, rate float64
	_, err = fmt.Sscan(text, &micros, &rate)
	return micros / 1000, err
}

// memoryOfNodes measures the memory of one node on the front end, including the kernel's for its
// connection.
func memoryOfNodes(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	return (w.after - w.before) / float64(w.size) / 1024, nil
}

// idleTime is the length of the idle period.
const idleTime = 20 * time.Second

// idleNodes measures the processor time of the master, as a fraction of one processor.
func idleNodes(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	before, err := w.masterTime()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	time.Sleep(idleTime)
	after, err := w.masterTime()
	return 100 * (after - before) / time.Since(begin).Seconds(), err
}

// masterTime returns the processor time that the master has used, in seconds.
func (w *crew) masterTime() (float64, error) {
	done, err := effortOf(w.cluster.Front, []string{"bpmaster"})
	return done.cpu / 1000, err
}

// stormOfNodes measures the time from the end of a cut of all links until all nodes have got
// answers over them to questions that they asked during the cut.
func stormOfNodes(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	if err := w.nodes.Cut(); err != nil {
		return 0, err
	}
	if _, err := w.nodes.Ask("ask"); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := w.nodes.Heal(); err != nil {
		return 0, err
	}
	if _, err := w.nodes.Ask("hear"); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	text, err := output(ctx, w.cluster.Front, "bpstat", "-t", "up")
	if got := strings.TrimSpace(text); err == nil && got != strconv.Itoa(w.size) {
		err = fmt.Errorf("%s nodes are up, not %d", got, w.size)
	}
	return took.Seconds(), err
}

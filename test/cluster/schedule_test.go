package cluster_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// harm is what a fault may do to the jobs that run meanwhile.
type harm int

const (
	harmless   harm = iota // nothing: only delays
	harmsNode              // jobs of its node may be lost
	harmsEvery             // all jobs may be lost
)

// faultKind is a fault that is repaired after a while.
type faultKind struct {
	name   string
	weight int
	onNode bool          // it affects one node; otherwise the front end, which has one fault at a time
	least  time.Duration // how long it lasts
	most   time.Duration
	harm   harm
	// refuses is the error of a command that is started meanwhile and does not begin.
	refuses string
	begin   func(ctx context.Context, c *cluster.Cluster, node int) error
	end     func(ctx context.Context, c *cluster.Cluster, node int) error
}

const (
	chaosLease = 12 * time.Second
	// chaosShort bounds harmless faults: a few in a row are within the lease.
	chaosShort = 2 * time.Second
	// chaosGone is when a silent node counts as lost: lease and margin.
	chaosGone = chaosLease + 5*time.Second
	// settling is how long after the end of a harmful fault jobs may be harmed: the node comes back
	// in this time.
	settling = 10 * time.Second
)

// Errors of a command that cannot be started.
const (
	noMaster = "no master is running here"
	isDown   = "is down"
)

var faultKinds = []faultKind{
	{"cut", 6, true, 20 * time.Millisecond, chaosShort, harmless, "", cut, heal},
	{"stop slave", 2, true, 20 * time.Millisecond, chaosShort, harmless, "", signalSlave(unix.SIGSTOP), signalSlave(unix.SIGCONT)},
	{"stop master", 2, false, 20 * time.Millisecond, chaosShort, harmless, "", signalMaster(unix.SIGSTOP), signalMaster(unix.SIGCONT)},
	{"stop keeper", 2, false, 20 * time.Millisecond, chaosShort, harmless, "", signalKeeper(unix.SIGSTOP), signalKeeper(unix.SIGCONT)},
	{"kill master", 3, false, 0, chaosShort, harmless, noMaster, killMaster, startMaster},
	{"end master", 1, false, 0, chaosShort, harmless, noMaster, endMaster, startMaster},
	{"kill keeper", 1, false, 0, 0, harmsEvery, "", signalKeeper(unix.SIGKILL), nothing},
	{"end keeper", 1, false, 0, 0, harmsEvery, "", signalKeeper(unix.SIGTERM), nothing},
	{"kill slave", 3, true, 0, chaosShort, harmless, isDown, killSlave, startSlave},
	{"end slave", 1, true, 0, chaosShort, harmsNode, isDown, endSlave, startSlave},
	{"long cut", 1, true, chaosGone + time.Second, chaosGone + 2*time.Second, harmsNode, isDown, cut, heal},
	{"reboot", 1, true, 0, chaosGone + time.Second, harmsNode, isDown, off, bootAndStart},
}

func nothing(context.Context, *cluster.Cluster, int) error { return nil }

func cut(_ context.Context, c *cluster.Cluster, node int) error  { return c.Cut(node) }
func heal(_ context.Context, c *cluster.Cluster, node int) error { return c.Heal(node) }

func signalSlave(sig unix.Signal) func(context.Context, *cluster.Cluster, int) error {
	return func(_ context.Context, c *cluster.Cluster, node int) error { return c.Slaves[node].Signal(sig) }
}

func signalMaster(sig unix.Signal) func(context.Context, *cluster.Cluster, int) error {
	return func(_ context.Context, c *cluster.Cluster, _ int) error { return c.Master.Signal(sig) }
}

func signalKeeper(sig unix.Signal) func(context.Context, *cluster.Cluster, int) error {
	return func(_ context.Context, c *cluster.Cluster, _ int) error { return c.SignalKeeper(sig) }
}

func killMaster(_ context.Context, c *cluster.Cluster, _ int) error  { return c.Master.Kill() }
func endMaster(ctx context.Context, c *cluster.Cluster, _ int) error { return c.Master.Stop(ctx) }
func startMaster(ctx context.Context, c *cluster.Cluster, _ int) error {
	return c.StartMaster(ctx)
}

func killSlave(_ context.Context, c *cluster.Cluster, node int) error { return c.Slaves[node].Kill() }

func endSlave(ctx context.Context, c *cluster.Cluster, node int) error {
	return c.Slaves[node].Stop(ctx)
}

func startSlave(ctx context.Context, c *cluster.Cluster, node int) error {
	return c.StartSlave(ctx, node)
}

func off(_ context.Context, c *cluster.Cluster, node int) error { return c.Nodes[node].Off() }

func bootAndStart(ctx context.Context, c *cluster.Cluster, node int) error {
	if err := c.Nodes[node].Boot(); err != nil {
		return err
	}
	return c.StartSlave(ctx, node)
}

// fault is a fault of a schedule.
type fault struct {
	kind faultKind
	node int // -1: the front end
	at   time.Duration
	end  time.Duration

	began, ended time.Time // when it was carried out
}

func (f *fault) String() string {
	where := "front end"
	if f.node >= 0 {
		where = fmt.Sprintf("node %d", f.node)
	}
	return fmt.Sprintf("%6.2f to %6.2f s  %-9s  %s", f.at.Seconds(), f.end.Seconds(), where, f.kind.name)
}

// mayHarm reports whether a job of a node that ran from begin to end may have been harmed.
func (f *fault) mayHarm(node int, begin, end time.Time) bool {
	if f.kind.harm == harmless || f.kind.harm == harmsNode && f.node != node {
		return false
	}
	return f.began.Before(end) && (f.ended.IsZero() || begin.Before(f.ended.Add(settling)))
}

// newSchedule makes the schedule of a seed: faults that begin within a time, at most one at a time
// in each place. Kinds that last or harm for longer than half of that are left out.
func newSchedule(seed uint64, nodes int, length time.Duration) []*fault {
	r := rand.New(rand.NewPCG(seed, 0))
	var kinds []faultKind
	for _, k := range faultKinds {
		whole := k.most
		if k.harm != harmless {
			whole += settling
		}
		for range k.weight {
			if whole <= length/2 {
				kinds = append(kinds, k)
			}
		}
	}
	free := map[int]time.Duration{} // when the next fault of a place can begin
	var all []*fault
	for at := time.Duration(0); at < length; at += time.Duration(r.Int64N(int64(time.Second))) {
		f := &fault{kind: kinds[r.IntN(len(kinds))], node: -1, at: at}
		if node := r.IntN(nodes); f.kind.onNode {
			f.node = node
		}
		lasts := time.Duration(r.Int64N(int64(f.kind.most - f.kind.least + 1)))
		if r.IntN(2) == 0 { // a short one is as likely as all others
			lasts /= 20
		}
		f.end = at + f.kind.least + lasts
		if free[f.node] > at {
			continue
		}
		free[f.node] = f.end + 100*time.Millisecond
		if f.kind.harm != harmless { // else all jobs would be harmed by some fault
			free[f.node] = f.end + 2*settling
		}
		all = append(all, f)
	}
	return all
}

// play carries out a schedule. The places are independent: a daemon that takes long to end on a node must
// not prolong the absence of the master.
func play(t *testing.T, c *cluster.Cluster, faults []*fault) {
	byPlace := map[int][]*fault{}
	for _, f := range slices.SortedStableFunc(slices.Values(faults), func(a, b *fault) int { return cmp.Compare(a.at, b.at) }) {
		byPlace[f.node] = append(byPlace[f.node], f)
	}
	begin := time.Now()
	var places sync.WaitGroup
	for _, here := range byPlace {
		places.Go(func() {
			for _, f := range here {
				time.Sleep(time.Until(begin.Add(f.at)))
				f.began = time.Now()
				f.step(t, c, "begin", f.kind.begin)
				time.Sleep(time.Until(begin.Add(f.end)))
				f.step(t, c, "end", f.kind.end)
				f.ended = time.Now()
			}
		})
	}
	places.Wait()
}

// step begins or ends a fault.
func (f *fault) step(t *testing.T, c *cluster.Cluster, what string, do func(ctx context.Context, c *cluster.Cluster, node int) error) {
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	defer cancel()
	if err := do(ctx, c, f.node); err != nil {
		t.Errorf("%s of the fault at %v: %v", what, f.at, err)
	}
}

// stepTimeout bounds the end or the start of a daemon.
var stepTimeout = limit.Scaled(60 * time.Second)

// text formats a schedule for a failed test.
func text(faults []*fault) string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"bproc/test/cluster"
)

const (
	sshWay       = "ssh -F /run/ssh/config n@"
	connectedWay = "ssh -F /run/ssh/connected n@"
)

// starters are the ways to start a command on one node.
func (r *rivals) starters() []way {
	ways := []way{
		{"bpsh", []string{"bpsh", "n@"}},
		{"bprsh", []string{"bprsh", "n@"}},
		{"ssh", strings.Fields(sshWay)},
		{"ssh, connected", strings.Fields(connectedWay)},
	}
	if r.rsh != "" {
		ways = append(ways, way{"rsh", []string{r.rshProgram(), "n@"}})
	}
	return ways
}

func (r *rivals) rshProgram() string { return filepath.Join(r.rsh, "usr/bin/netkit-rsh") }

// fans are the ways to start a command on all nodes.
func (r *rivals) fans() []way {
	hosts := fmt.Sprintf("n[0-%d]", r.nodes-1)
	sh := func(name, line string) way { return way{name, []string{"sh", "-c", line}} }
	ways := []way{
		{"bpsh", []string{"bpsh", "-a", "hostname"}},
		sh("pdsh, bprsh", "pdsh -R exec -w '"+hosts+"' bprsh %h hostname"),
		sh("pdsh, ssh", "pdsh -R exec -w '"+hosts+"' ssh -F /run/ssh/config %h hostname"),
		sh("pdsh, ssh, connected", "pdsh -R exec -w '"+hosts+"' ssh -F /run/ssh/connected %h hostname"),
		sh("clush, ssh, connected", "clush -f 32 -o '-F /run/ssh/connected' -w '"+hosts+"' hostname"),
		sh("clush, bprsh", "clush -f 32 -O ssh_path=bprsh -w '"+hosts+"' hostname"),
	}
	if r.rsh != "" {
		ways = append(ways, sh("pdsh, rsh", "pdsh -R exec -w '"+hosts+"' "+r.rshProgram()+" %h hostname"))
	}
	if has("mpiexec.hydra") {
		names := make([]string, r.nodes)
		for i := range names {
			names[i] = fmt.Sprint("n", i)
		}
		all := fmt.Sprintf("-hosts %s -ppn 1 -n %d hostname </dev/null", strings.Join(names, ","), r.nodes)
		ways = append(ways,
			sh("mpiexec.hydra, bprsh", "timeout -s KILL 120 mpiexec.hydra -launcher ssh -launcher-exec $(command -v bprsh) "+all),
			sh("mpiexec.hydra, ssh", "HYDRA_LAUNCHER_EXTRA_ARGS='-F /run/ssh/connected' timeout -s KILL 120 mpiexec.hydra -launcher ssh "+all))
	}
	return ways
}

func (r *rivals) tables() [][]figure {
	starters := r.starters()
	start := func(name string, inflight int, latency bool) figure {
		return figure{name, "%.1f", starters, func(ctx context.Context, w way) (result, error) {
			middle, rate, failed, err := r.spawned(ctx, r.samples, inflight, append(w.argv[:len(w.argv):len(w.argv)], "true"))
			if latency {
				rate = middle
			}
			return result{rate, failed}, err
		}}
	}
	fan := figure{fmt.Sprintf("hostname on %d nodes, ms", r.nodes), "%.0f", r.fans(), func(ctx context.Context, w way) (result, error) {
		middle, _, failed, err := r.spawned(ctx, 3, 1, w.argv)
		return result{middle, failed}, err
	}}
	return [][]figure{
		{start("start, ms", 1, true), start("1, /s", 1, false), start("8, /s", 8, false), start("32, /s", 32, false)},
		{fan},
		{
			{"stdout, MB/s", "%.0f", starters, r.bytesOut},
			{"stdin, MB/s", "%.0f", starters, r.bytesIn},
		},
		{{"memory, KiB", "%.0f", starters, r.memory}},
	}
}

// producer returns the command that writes the bytes.
func (r *rivals) producer() string {
	const block = 256 << 10
	return fmt.Sprintf("dd if=/dev/zero bs=%d count=%d status=none", block, r.bytes/block)
}

func (r *rivals) bytesOut(ctx context.Context, w way) (result, error) {
	return r.through(ctx, strings.Join(at(w.argv, 0), " ")+" "+r.producer()+" </dev/null | wc -c")
}

func (r *rivals) bytesIn(ctx context.Context, w way) (result, error) {
	return r.through(ctx, r.producer()+" | "+strings.Join(at(w.argv, 0), " ")+" wc -c")
}

// through runs a shell line that ends with the number of bytes.
func (r *rivals) through(ctx context.Context, line string) (result, error) {
	begin := time.Now()
	text, err := output(ctx, r.c.Front, "bash", "-c", line)
	took := time.Since(begin).Seconds()
	if err != nil || strings.TrimSpace(text) != fmt.Sprint(r.bytes) {
		return result{failed: 1}, nil
	}
	return result{value: float64(r.bytes) / 1e6 / took}, nil
}

// idlers is the number of idle commands.
const idlers = 100

// memory measures the memory that the front end's control group is charged for, per command.
func (r *rivals) memory(ctx context.Context, w way) (result, error) {
	before, err := r.settled(ctx)
	if err != nil {
		return result{}, err
	}
	line := "for i in $(seq 25); do"
	for node := range 4 {
		line += " " + strings.Join(at(w.argv, node), " ") + " sleep 100000 </dev/null >/dev/null 2>&1 &"
	}
	cmd := r.c.Front.Command(ctx, cluster.Root, "bash", "-c", line+" done; wait")
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	all, err := r.awaitSleepers(ctx, idlers)
	after, chargedErr := r.settled(ctx)
	for _, n := range r.c.Nodes[:4] { // the commands end there
		_, killErr := n.Exec(ctx, cluster.Root, "pkill", "-x", "sleep")
		err = errors.Join(err, killErr)
	}
	_ = cmd.Process.Kill() // commands that did not start end with it, or by themselves
	_ = cmd.Wait()         // of commands that were killed
	if !all {
		return result{failed: 1}, errors.Join(err, chargedErr)
	}
	return result{value: (after - before) / idlers / 1024}, errors.Join(err, chargedErr)
}

// sleepTime is how long the commands may take to start.
const sleepTime = 5 * time.Minute

// awaitSleepers waits until a number of commands run on the first nodes, and reports whether they
// do.
func (r *rivals) awaitSleepers(ctx context.Context, count int) (bool, error) {
	for deadline := time.Now().Add(sleepTime); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		found := 0
		for _, n := range r.c.Nodes[:4] {
			all, err := n.Named("sleep")
			if err != nil {
				return false, err
			}
			found += len(all)
		}
		if found >= count {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Memory is settled when it has not changed by more than settledBytes for settledTime. The kernel
// gives that of ended processes back some time after their end.
const (
	settledBytes = 256 << 10
	settledTime  = 3 * time.Second
	settlesIn    = time.Minute
)

// settled waits until the memory of the front end has settled, and returns it.
func (r *rivals) settled(ctx context.Context) (float64, error) {
	last, err := r.c.Front.Charged()
	since := time.Now()
	for begin := since; err == nil && time.Since(since) < settledTime && time.Since(begin) < settlesIn; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
		var now float64
		if now, err = r.c.Front.Charged(); math.Abs(now-last) > settledBytes {
			last, since = now, time.Now()
		}
	}
	return last, err
}

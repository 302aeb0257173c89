package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// restartUnits restarts each daemon by its unit.
func restartUnits(ctx context.Context, l *lab) error {
	for _, unit := range [][2]string{{frontEnd, "bpmaster"}, {frontEnd, "bpprocfs"}, {node0, "bpslave"}, {node1, "bpslave"}} {
		err := l.keeping(ctx, func() error {
			_, err := l.machine(unit[0]).run(ctx, "systemctl restart "+unit[1])
			return err
		})
		if err != nil {
			return fmt.Errorf("restart of %s on %s: %w", unit[1], unit[0], err)
		}
	}
	return nil
}

// bounds are the limits of control groups of all of bproc's units.
const bounds = `find /sys/fs/cgroup -path '*bp*' -name pids.max | sort | while read -r f; do echo "$f $(cat "$f")"; done`

// daemonReload has systemd write what it knows of all units.
func daemonReload(ctx context.Context, l *lab) error {
	return l.keeping(ctx, func() error {
		return l.onAll(func(m *machine) error {
			was, err := m.run(ctx, bounds)
			if err != nil {
				return err
			}
			now, err := m.run(ctx, "systemctl daemon-reload && "+bounds)
			if err == nil && now != was {
				err = fmt.Errorf("%s: bounds were\n%sand are\n%s", m.name, was, now)
			}
			return err
		})
	})
}

// upgrade installs the packages over themselves, so that all scripts of an upgrade run.
func upgrade(ctx context.Context, l *lab) error {
	return l.keeping(ctx, func() error {
		return l.onAll(func(m *machine) error { return installOn(ctx, m) })
	})
}

// tasksMax has a service that may have 60 tasks fork 100 times on a node: fork fails there, and
// no process is lost afterwards.
func tasksMax(ctx context.Context, l *lab) error {
	const script = `i=0; while [ $((i += 1)) -le 100 ]; do sleep 1000 & done; wait`
	front := l.machine(frontEnd)
	out, err := front.run(ctx, `systemd-run -q --wait --pipe --collect --uid=user -p TasksMax=60 -p RuntimeMaxSec=300 bpsh 0 bash -c '`+script+`' 2>&1; echo "status $?"`)
	if err != nil {
		return err
	}
	if !strings.Contains(out, "Resource temporarily unavailable") || strings.Contains(out, "killed") {
		err = fmt.Errorf("fork did not fail on the node, or a process was killed:\n%s", tail(out))
	}
	return errors.Join(err, l.settled(ctx))
}

// reboot switches a machine off in good order, and on.
func reboot(ctx context.Context, m *machine) error {
	if _, err := m.shutdown(ctx, "reboot"); err != nil {
		return err
	}
	return m.start(ctx)
}

// quick fails if a shutdown took longer than one that waits for nobody. Where machines are
// translated, ten seconds are as many as the host has processors to spare, so the bound there
// only tells a shutdown from one that waits until systemd gives up.
func (l *lab) quick(took time.Duration) error {
	limit := 10 * time.Second
	if l.image.translated() {
		limit = 80 * time.Second
	}
	fmt.Printf("     shutdown with jobs: %.1f s\n", took.Seconds())
	if took > limit {
		return fmt.Errorf("the shutdown took %v, more than %v", took.Round(time.Second), limit)
	}
	return nil
}

// rebootNode shuts a node down with its job, and starts it.
func rebootNode(ctx context.Context, l *lab, name string) error {
	m := l.machine(name)
	took, err := m.shutdown(ctx, "reboot")
	if err != nil {
		return err
	}
	if err := l.machine(frontEnd).await(ctx, "! systemctl -q is-active job0"); err != nil {
		return err
	}
	return errors.Join(l.quick(took), m.start(ctx), l.settled(ctx))
}

// rebootFrontEnd shuts the front end down with all jobs; nothing of them stays on nodes.
func rebootFrontEnd(ctx context.Context, l *lab) error {
	m := l.machine(frontEnd)
	took, err := m.shutdown(ctx, "reboot")
	if err != nil {
		return err
	}
	if err := l.machine(node1).await(ctx, "! pgrep -x sleep"); err != nil {
		return err
	}
	return errors.Join(l.quick(took), m.start(ctx), l.settled(ctx))
}

// powerLoss takes a machine's power; it is found out, and the cluster is as before when it is back.
func powerLoss(ctx context.Context, l *lab, name string) error {
	m := l.machine(name)
	m.powerOff()
	found := func() error { return l.machine(frontEnd).await(ctx, "! systemctl -q is-active job0") }
	if name == frontEnd {
		found = func() error { return l.machine(node1).await(ctx, "! pgrep -fx 'sleep 100001'") }
	}
	return errors.Join(found(), m.start(ctx), l.settled(ctx))
}

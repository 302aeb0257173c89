package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// bounds prints the limits of the control groups of all of bproc's units.
const bounds = `find /sys/fs/cgroup -path '*/bp*' -name pids.max | sort | while read -r f; do echo "$f $(cat "$f")"; done`

// daemonReload makes systemd read all units again, which must not change their bounds.
func daemonReload(ctx context.Context, l *lab) error {
	return l.keeping(ctx, func() error {
		return l.onAll(func(m *machine) error {
			was, err := m.run(ctx, bounds)
			if err != nil {
				return err
			}
			if m.name != frontEnd && !strings.Contains(was, "/bproc-") {
				return fmt.Errorf("%s: no group of a process space is among\n%s", m.name, was)
			}
			now, err := m.run(ctx, "systemctl daemon-reload && "+bounds)
			if err == nil && !sameBounds(was, now) {
				err = fmt.Errorf("%s: bounds were\n%sand are\n%s", m.name, was, now)
			}
			return err
		})
	})
}

// sameBounds reports whether all control groups have the bounds that they had. A group of a command
// that has ended may be gone: the daemon removes it some time later.
func sameBounds(was, now string) bool {
	lines := strings.Split(was, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		path, _, _ := strings.Cut(line, " ")
		return strings.Contains(path, "/group-") && !strings.Contains(now, path+" ")
	})
	return was != "" && slices.Equal(lines, strings.Split(now, "\n"))
}

// stale fails if a daemon runs a file that an upgrade has replaced.
const stale = `for p in $(pgrep -x 'bpmaster|bpprocfs|bpslave|bpkeeper'); do readlink /proc/$p/exe; done | grep deleted && exit 1; true`

// upgrade installs packages of another version while jobs run.
func upgrade(ctx context.Context, l *lab) error {
	return l.keeping(ctx, func() error {
		l.version += "+next"
		if err := l.makePackages(ctx); err != nil {
			return err
		}
		return l.onAll(func(m *machine) error {
			if err := installOn(ctx, m); err != nil {
				return err
			}
			return m.await(ctx, "("+stale+")")
		})
	})
}

// forks makes 100 children, and prints the numbers of those made and those refused.
const forks = `
import os, signal, sys
made, refused = [], 0
for i in range(100):
    try: pid = os.fork()
    except BlockingIOError: refused += 1; continue
    if pid == 0: signal.pause()
    made.append(pid)
lost = sum(os.waitpid(pid, os.WNOHANG)[0] != 0 for pid in made)
print("made", len(made), "refused", refused, "lost", lost)
for pid in made: os.kill(pid, signal.SIGTERM)
sys.exit(3)
`

// tasksMax runs a service with at most 60 tasks that forks 100 times on a node: fork fails there
// with EAGAIN, and no process is lost.
func tasksMax(ctx context.Context, l *lab) error {
	const run = `systemd-run -q --wait --pipe --collect --uid=user -p TasksMax=60 -p RuntimeMaxSec=300 bpsh 0 python3 -c '` + forks + `' 2>&1; echo "status $?"`
	out, err := l.machine(frontEnd).run(ctx, run)
	if err != nil {
		return err
	}
	var made, refused, lost, status int
	_, err = fmt.Sscanf(out, "made %d refused %d lost %d\nstatus %d\n", &made, &refused, &lost, &status)
	if err != nil || made < 15 || made >= 60 || made+refused != 100 || lost != 0 || status != 3 {
		err = fmt.Errorf("want 15 to 59 of 100 children, none of them lost, and status 3; printed is\n%s", tail(out))
	}
	return errors.Join(err, l.settled(ctx))
}

// reboot shuts a machine down, and starts it.
func reboot(ctx context.Context, m *machine) error {
	if _, err := m.shutdown(ctx, "reboot"); err != nil {
		return err
	}
	return m.start(ctx)
}

// rebootNode shuts a node down with its jobs, and starts it.
func rebootNode(ctx context.Context, l *lab, name string) error {
	m := l.machine(name)
	if err := m.shutdownWithJobs(ctx); err != nil {
		return err
	}
	if err := l.machine(frontEnd).await(ctx, "! systemctl -q is-active job0"); err != nil {
		return err
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	return errors.Join(m.quick(ctx), l.settled(ctx))
}

// rebootFrontEnd shuts the front end down with all jobs; no process of them stays on nodes.
func rebootFrontEnd(ctx context.Context, l *lab) error {
	m := l.machine(frontEnd)
	if err := m.shutdownWithJobs(ctx); err != nil {
		return err
	}
	for _, name := range []string{node0, node1} {
		if err := l.machine(name).await(ctx, "! pgrep -x sleep"); err != nil {
			return err
		}
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	return errors.Join(m.quick(ctx), l.settled(ctx))
}

// powerLoss switches a machine off at once. The others notice, and the cluster is as before when it
// is back.
func powerLoss(ctx context.Context, l *lab, name string) error {
	m := l.machine(name)
	m.powerOff()
	found := func() error { return l.machine(frontEnd).await(ctx, "! systemctl -q is-active job0") }
	if name == frontEnd {
		found = func() error { return l.machine(node1).await(ctx, "! pgrep -fx 'sleep 100001'") }
	}
	if err := errors.Join(found(), m.start(ctx)); err != nil {
		return err
	}
	return l.settled(ctx)
}

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// clusterBase is the number of clusterSteps that make the cluster for all others.
const clusterBase = 2

// clusterSteps are the events of a front end and two nodes. A step leaves the cluster up, with a
// job of an ordinary user on each node, except the last.
var clusterSteps = []step{
	{"install", install},
	{"join", join},
	{"restart-units", restartUnits},
	{"daemon-reload", daemonReload},
	{"upgrade", upgrade},
	{"faulty-config", faultyConfig},
	{"tasks-max", tasksMax},
	{"reboot-node", func(ctx context.Context, l *lab) error { return rebootNode(ctx, l, node0) }},
	{"power-loss-node", func(ctx context.Context, l *lab) error { return powerLoss(ctx, l, node0) }},
	{"reboot-front-end", rebootFrontEnd},
	{"power-loss-front-end", func(ctx context.Context, l *lab) error { return powerLoss(ctx, l, frontEnd) }},
	{"remove", remove},
}

const (
	frontEnd = "front-end"
	node0    = "node0"
	node1    = "node1"
)

// job is a long-running command on a node: a sleep with a unique argument.
type job struct {
	unit string // of systemd on the front end
	node int
	time string
	how  string // systemd-run's options: a service, or a session like that of a login
}

var jobs = []job{
	{"job0", 0, "100000", ""},
	{"job1", 1, "100001", ""},
	{"seat0", 0, "100002", "-p PAMName=login"},
}

// start returns a script that starts the job unless it runs.
func (j job) start() string {
	return fmt.Sprintf("systemctl -q is-active %[1]s || systemd-run -q --collect --unit=%[1]s --uid=user %[4]s bpsh %[2]d sleep %[3]s\n", j.unit, j.node, j.time, j.how)
}

// install makes the packages and three machines with them.
func install(ctx context.Context, l *lab) error {
	out, err := exec.CommandContext(ctx, "packaging/version").Output()
	if err != nil {
		return fmt.Errorf("packaging/version: %w", err)
	}
	l.version = strings.TrimSpace(string(out))
	if err := l.makePackages(ctx); err != nil {
		return err
	}
	for i, name := range []string{frontEnd, node0, node1} {
		if _, err := l.add(name, i+1); err != nil {
			return err
		}
	}
	return l.onAll(func(m *machine) error {
		if err := m.start(ctx); err != nil {
			return err
		}
		return installOn(ctx, m)
	})
}

// makePackages makes the packages of the lab's version.
func (l *lab) makePackages(ctx context.Context) error {
	return output(ctx, "make", "packages", "BUILD="+l.build, "BPROC_VERSION="+l.version)
}

// installOn installs the packages for a machine's role by the README's command, or upgrades to them.
func installOn(ctx context.Context, m *machine) error {
	commands, err := typed(m.here())
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"bproc-client", "bproc-frontend", "bproc-node", "bproc-doc"} {
		path, err := filepath.Glob(fmt.Sprintf("%s/packages/%s_%s_*.deb", m.lab.build, name, m.lab.version))
		if err != nil || len(path) != 1 {
			return fmt.Errorf("package %s: %q, %w", name, path, err)
		}
		text, err := os.ReadFile(path[0])
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.Base(path[0]), Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	script := "rm -rf /var/tmp/debs && mkdir /var/tmp/debs && cd /var/tmp/debs && tar -xf - && " + commands[0] + " </dev/null"
	if _, err := m.runWith(ctx, script, archive.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", commands[0], err)
	}
	names := []string{"bproc-client", "bproc-node"}
	if m.name == frontEnd {
		names = []string{"bproc-client", "bproc-frontend", "bproc-doc"}
	}
	has, err := m.run(ctx, "dpkg-query -W -f '${Version} ${db:Status-Abbrev}\n' "+strings.Join(names, " "))
	if want := strings.Repeat(m.lab.version+" ii \n", len(names)); err == nil && has != want {
		err = fmt.Errorf("%s has\n%swant\n%s", m.name, has, want)
	}
	return err
}

// join makes the cluster: with the first node by the README's commands, with the second one by its first
// boot, with a token and the front end's name in its image.
func join(ctx context.Context, l *lab) error {
	front, second := l.machine(frontEnd), l.machine(node1)
	if err := byReadme(ctx, front, l.machine(node0)); err != nil {
		return err
	}
	token, err := front.run(ctx, "bpctl enroll --name "+node1)
	if err != nil {
		return err
	}
	configure := "umask 077 && cat >/etc/bproc/token && echo MASTER=front-end >/etc/bproc/slave"
	if _, err := second.runWith(ctx, configure, []byte(token)); err != nil {
		return err
	}
	if err := reboot(ctx, second); err != nil {
		return err
	}
	if err := l.settled(ctx); err != nil {
		return err
	}
	const times = "! test -e /etc/bproc/token && systemctl show -P ExecMainStartTimestampMonotonic -P ActiveEnterTimestampMonotonic bpslave"
	out, err := second.run(ctx, times)
	if err != nil {
		return err
	}
	var started, up float64
	if _, err := fmt.Sscan(out, &started, &up); err != nil {
		return fmt.Errorf("%q: %w", out, err)
	}
	fmt.Printf("     %s: bpslave starts %.1f s after the kernel, and has joined %.1f s later\n", second.name, started/1e6, (up-started)/1e6)
	return nil
}

// settled waits until both nodes are up and accept commands, and starts the jobs that are missing.
func (l *lab) settled(ctx context.Context) error {
	front := l.machine(frontEnd)
	if err := front.await(ctx, `test "$(bpstat -t up)" = 2 && test "$(bpsh -a hostname | sort -u | wc -l)" = 2`); err != nil {
		state, _ := front.run(ctx, "bpstat -l; journalctl -b -u bpmaster -n 20 --no-pager -o cat")
		return errors.Join(err, errors.New(state))
	}
	for _, m := range l.machines {
		if failed, err := m.run(ctx, "systemctl list-units --failed --plain --no-legend 'bp*'"); err != nil || failed != "" {
			return errors.Join(err, fmt.Errorf("%s has failed units:\n%s", m.name, failed))
		}
	}
	for _, j := range jobs {
		if _, err := front.run(ctx, j.start()); err != nil {
			return err
		}
		if err := l.node(j.node).await(ctx, "pgrep -fx 'sleep "+j.time+"'"); err != nil {
			const last = "journalctl -b -n 20 --no-pager -o short-monotonic -u "
			state, _ := front.run(ctx, last+j.unit+"; "+last+"bpmaster")
			there, _ := l.node(j.node).run(ctx, last+"bpslave")
			return errors.Join(err, errors.New(state), errors.New(there))
		}
	}
	return nil
}

// await repeats a command until it succeeds.
func (m *machine) await(ctx context.Context, condition string) error {
	limit := 2 * time.Minute
	if m.lab.image.translated() {
		limit = 8 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := m.run(ctx, "until "+condition+"; do sleep 1; done")
	return err
}

// same fails if a job has other processes than before; marks are the result of an earlier call of
// marks.
func (l *lab) same(ctx context.Context, marks string) error {
	now, err := l.marks(ctx)
	if err == nil && now != marks {
		err = fmt.Errorf("jobs were\n%sand are\n%s", marks, now)
	}
	return err
}

// marks identifies the jobs: the process of bpsh, its ghost, and the process on the node.
func (l *lab) marks(ctx context.Context) (string, error) {
	var all strings.Builder
	for _, j := range jobs {
		out, err := l.machine(frontEnd).run(ctx, fmt.Sprintf("systemctl show -p MainPID -p ActiveState %s; pgrep -fx 'sleep %s'", j.unit, j.time))
		if err != nil {
			return "", err
		}
		all.WriteString(out)
		out, err = l.node(j.node).run(ctx, "pgrep -fx 'sleep "+j.time+"'")
		if err != nil {
			return "", err
		}
		all.WriteString(out)
	}
	return all.String(), nil
}

// keeping runs an action that jobs must survive.
func (l *lab) keeping(ctx context.Context, do func() error) error {
	marks, err := l.marks(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := l.settled(ctx); err != nil {
		return err
	}
	return l.same(ctx, marks)
}

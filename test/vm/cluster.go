package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// clusterBase is how many steps of clusterSteps make the cluster that all others need.
const clusterBase = 2

// clusterSteps is the life of a front end and two nodes. A step leaves the cluster up, with a job
// of an ordinary user on each node.
var clusterSteps = []step{
	{"install", install},
	{"join", join},
	{"restart-units", restartUnits},
	{"daemon-reload", daemonReload},
	{"upgrade", upgrade},
	{"tasks-max", tasksMax},
	{"reboot-node", func(ctx context.Context, l *lab) error { return rebootNode(ctx, l, node0) }},
	{"power-loss-node", func(ctx context.Context, l *lab) error { return powerLoss(ctx, l, node0) }},
	{"reboot-front-end", rebootFrontEnd},
	{"power-loss-front-end", func(ctx context.Context, l *lab) error { return powerLoss(ctx, l, frontEnd) }},
}

const (
	frontEnd = "front-end"
	node0    = "node0"
	node1    = "node1"
)

// jobs starts those that are missing: node n's is a sleep with an argument of its own.
const jobs = `for n in 0 1; do
	systemctl -q is-active job$n || systemd-run -q --collect --unit=job$n --uid=user bpsh $n sleep 10000$n
done`

// install makes the packages and three machines with them.
func install(ctx context.Context, l *lab) error {
	if err := output(ctx, "make", "packages", "BUILD="+l.config.build); err != nil {
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

// installOn installs the packages of a machine's part, or again, which is an upgrade.
func installOn(ctx context.Context, m *machine) error {
	part := "bproc-node"
	if m.name == frontEnd {
		part = "bproc-frontend"
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"bproc-client", part} {
		if err := addPackage(w, m.lab.config.build+"/packages/"+name+"_*_amd64.deb", name); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := m.runWith(ctx, "rm -rf /root/debs && mkdir /root/debs && tar -C /root/debs -xf - && dpkg -i /root/debs/*.deb", archive.Bytes())
	return err
}

// addPackage adds the newest file that matches.
func addPackage(w *tar.Writer, pattern, name string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no %s", pattern)
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name + ".deb", Mode: 0o644, Size: int64(len(text))}); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// join is the first boot of two nodes that have a token and the front end's name in their images.
func join(ctx context.Context, l *lab) error {
	for _, name := range []string{node0, node1} {
		token, err := l.machine(frontEnd).run(ctx, "bpctl enroll --name "+name)
		if err != nil {
			return err
		}
		configure := "umask 077 && cat >/etc/bproc/token && echo MASTER=front-end >/etc/bproc/slave"
		if _, err := l.machine(name).runWith(ctx, configure, []byte(token)); err != nil {
			return err
		}
	}
	for _, name := range []string{node0, node1} {
		if err := reboot(ctx, l.machine(name)); err != nil {
			return err
		}
	}
	if err := l.settled(ctx); err != nil {
		return err
	}
	_, err := l.machine(node0).run(ctx, "! test -e /etc/bproc/token")
	return err
}

// settled waits until both nodes are up, starts the jobs that are missing, and waits for them.
func (l *lab) settled(ctx context.Context) error {
	front := l.machine(frontEnd)
	if err := front.await(ctx, `test "$(bpstat -t up)" = 2`); err != nil {
		state, _ := front.run(ctx, "bpstat -l; journalctl -b -u bpmaster -n 20 --no-pager -o cat")
		return errors.Join(err, errors.New(state))
	}
	if _, err := front.run(ctx, jobs); err != nil {
		return err
	}
	for n, name := range []string{node0, node1} {
		if err := l.machine(name).await(ctx, fmt.Sprintf("pgrep -fx 'sleep 10000%d'", n)); err != nil {
			return err
		}
	}
	return nil
}

// await repeats a command until it is true.
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

// same fails if a job is not the process that it was: marks are those of a call before.
func (l *lab) same(ctx context.Context, marks string) error {
	now, err := l.marks(ctx)
	if err == nil && now != marks {
		err = fmt.Errorf("jobs were\n%sand are\n%s", marks, now)
	}
	return err
}

// marks tells the jobs: the process of bpsh, its ghost, and the process on the node.
func (l *lab) marks(ctx context.Context) (string, error) {
	var all strings.Builder
	out, err := l.machine(frontEnd).run(ctx, "for n in 0 1; do systemctl show -p MainPID -p ActiveState job$n; pgrep -fx \"sleep 10000$n\"; done; true")
	if err != nil {
		return "", err
	}
	all.WriteString(out)
	for n, name := range []string{node0, node1} {
		out, err := l.machine(name).run(ctx, fmt.Sprintf("pgrep -fx 'sleep 10000%d'", n))
		if err != nil {
			return "", err
		}
		all.WriteString(out)
	}
	return all.String(), nil
}

// keeping does something that jobs must survive.
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

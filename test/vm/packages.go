package main

import (
	"context"
	"fmt"
)

// faultyConfig has a configuration with a fault: a reload fails, and an installation leaves the master
// as it is.
func faultyConfig(ctx context.Context, l *lab) error {
	return l.keeping(ctx, func() error {
		m := l.machine(frontEnd)
		const which = "systemctl show -p MainPID bpmaster"
		was, err := m.run(ctx, "cp /etc/bproc/config /root/config && echo 'bogus 1' >>/etc/bproc/config && "+which)
		if err != nil {
			return err
		}
		if _, err := m.run(ctx, "! systemctl reload bpmaster"); err != nil {
			return fmt.Errorf("a reload of a faulty configuration: %w", err)
		}
		if err := installOn(ctx, m); err != nil {
			return err
		}
		is, err := m.run(ctx, which)
		if err == nil && is != was {
			err = fmt.Errorf("the master was %sand is %s", was, is)
		}
		if err != nil {
			return err
		}
		_, err = m.run(ctx, "cp /root/config /etc/bproc/config && systemctl reload bpmaster")
		return err
	})
}

// left prints what a machine has of bproc: files, mounts, names of nodes and processes.
const left = `
ours='(bproc|bp(master|slave|procfs|keeper|init|jail|check|sh|rsh|stat|ctl|cp|job|ns)\b)'
find /etc /run /sbin/ /usr /var/cache /var/lib /var/log /var/spool /sys/fs/cgroup -xdev ! -path '/var/lib/dpkg/*' ! -path '/var/lib/apt/*' |
	grep -E "$ours[^/]*$" | grep -v 'subprocess\|libproc'
grep bproc /proc/self/mountinfo /etc/hosts
for p in /proc/[0-9]*; do readlink $p/exe | grep -qE "$ours" && { tr '\0' ' ' <$p/cmdline; echo; }; done; true`

// remove purges the packages of all machines while jobs run, of the front end with a master that is
// stopped. Nothing is left.
func remove(ctx context.Context, l *lab) error {
	m := l.machine(frontEnd)
	if _, err := m.run(ctx, "systemctl enable --now bproc-hosts && until grep -q bproc /etc/hosts; do sleep 1; done && systemctl stop bpmaster"); err != nil {
		return err
	}
	return l.onAll(func(m *machine) error {
		if _, err := m.run(ctx, "dpkg --purge $(dpkg-query -W -f '${Package}\n' 'bproc-*')"); err != nil {
			return err
		}
		has, err := m.run(ctx, left)
		if err == nil && has != "" {
			err = fmt.Errorf("%s has still\n%s", m.name, has)
		}
		return err
	})
}

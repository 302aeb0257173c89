package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// checked is the output of "bpctl check --json".
type checked struct {
	Sides  []string
	Checks []struct{ Side, Name, Status, Found, Remedy string }
}

// of returns status and finding of a check.
func (c *checked) of(t *testing.T, name string) (status, found string) {
	t.Helper()
	for _, r := range c.Checks {
		if r.Name == name {
			return r.Status, r.Found
		}
	}
	t.Fatalf("there is no check %q among %+v", name, c.Checks)
	return "", ""
}

// checkMachine runs "bpctl check" on a machine, after the shell command prepare, in a mount
// namespace of its own.
func checkMachine(t *testing.T, m *cluster.Machine, user cluster.User, prepare string, args ...string) (r checked, code int) {
	t.Helper()
	argv := append([]string{"bpctl", "check", "--json"}, args...)
	if prepare != "" {
		argv = append([]string{"unshare", "--mount", "sh", "-e", "-c", prepare + "\n" + `exec "$@"`, "sh"}, argv...)
	}
	res, err := m.Exec(t.Context(), user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(res.Stdout), &r); err != nil {
		t.Fatalf("%v: exit code %d\n%s%s", err, res.Code, res.Stdout, res.Stderr)
	}
	return r, res.Code
}

// canWarn are the checks that may warn on a test's machines: of capabilities that the host lacks,
// of its kernel's Landlock, of its bounds, and of the view, which is not started.
var canWarn = map[string]bool{"privileges": true, "jobs": true, "tasks": true, "descriptors": true, "view": true}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	for _, test := range []struct {
		side string
		m    *cluster.Machine
	}{{"front end", c.Front}, {"node", c.Nodes[0]}} {
		r, code := checkMachine(t, test.m, cluster.Root, "")
		if code != 0 || fmt.Sprint(r.Sides) != "["+test.side+"]" {
			t.Errorf("%s: exit code %d, sides %q", test.side, code, r.Sides)
		}
		for _, check := range r.Checks {
			if check.Status != "ok" && (check.Status != "warn" || !canWarn[check.Name]) {
				t.Errorf("%s: %+v", test.side, check)
			}
		}
		// Any user may run it; checks that need root are skipped.
		r, code = checkMachine(t, test.m, cluster.Alice, "")
		if status, _ := r.of(t, "state"); code != 0 || status != "skip" {
			t.Errorf("%s, as a user: exit code %d, state: %s", test.side, code, status)
		}
	}
}

// TestCheckFindsFaults breaks a machine in one way at a time.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	node, front := c.Nodes[0], c.Front
	// The script replaces the files of /proc/sys/kernel that are checked, and adds those of yama.
	const yama = `
mkdir /run/kernel
for f in osrelease ns_last_pid pid_max threads-max; do cat /proc/sys/kernel/$f >/run/kernel/$f; done
mkdir -p /run/kernel/yama
echo 3 >/run/kernel/yama/ptrace_scope
mount --bind /run/kernel /proc/sys/kernel`
	for _, test := range []struct {
		name, prepare string
		m             *cluster.Machine
		check, found  string
	}{
		{"no control groups", "umount --recursive /sys/fs/cgroup", node, "cgroups", "no control groups are mounted"},
		{"no types", "mount -t tmpfs none /sys/kernel/btf", node, "bpf", "types"},
		{"yama", yama, front, "ptrace", "ptrace_scope is 3"},
		{"nosuid", "mount --bind " + cluster.Prefix + " " + cluster.Prefix + "; mount -o remount,bind,nosuid " + cluster.Prefix, front, "ghost image", "nosuid"},
		{"state is read-only", "mount -o remount,bind,ro " + cluster.StateDir, front, "state", "cannot be written to"},
		{"no name", "echo >/run/hosts; mount --bind /run/hosts /etc/hosts; mount --bind /run/hosts /etc/resolv.conf", node, "name of the master", "front"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, code := checkMachine(t, test.m, cluster.Root, test.prepare)
			status, found := r.of(t, test.check)
			if code != 1 || status != "fail" || !strings.Contains(found, test.found) {
				t.Errorf("exit code %d, %s: %s %q, want %q", code, test.check, status, found, test.found)
			}
		})
	}
	t.Run("network cut", func(t *testing.T) {
		if err := c.Cut(0); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Heal(0); err != nil {
				t.Error(err)
			}
		}()
		r, code := checkMachine(t, node, cluster.Root, "", "--node", "front")
		if status, _ := r.of(t, "master"); code != 1 || status != "fail" {
			t.Errorf("exit code %d, master: %s", code, status)
		}
	})
	awaitMaster(t, node)
	t.Run("no master", func(t *testing.T) {
		if err := c.Master.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, _ := checkMachine(t, node, cluster.Root, "", "--node", "front")
		if status, found := r.of(t, "master"); status != "fail" || !strings.Contains(found, "refused") {
			t.Errorf("master: %s %q", status, found)
		}
		r, _ = checkMachine(t, front, cluster.Root, "")
		if status, found := r.of(t, "port"); status != "warn" || !strings.Contains(found, "does not run") {
			t.Errorf("port: %s %q", status, found)
		}
	})
}

// awaitMaster waits until a node's machine reaches the master after a cut of the network: failed
// ARP queries (arp(7)) keep it from that for some seconds more.
func awaitMaster(t *testing.T, node *cluster.Machine) {
	t.Helper()
	for deadline := time.Now().Add(limit.Scaled(time.Minute)); ; {
		r, _ := checkMachine(t, node, cluster.Root, "", "--node", "front")
		status, found := r.of(t, "master")
		if status == "ok" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the master is not found again: %s", found)
		}
	}
}

package cluster_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestConfigReload checks that a command and SIGHUP reload the configuration. No process ends, and
// an invalid configuration changes nothing.
func TestConfigReload(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, Limited: true, MasterConfig: "lease 20\nsetup none\nnode 0 n0\nnode 7 n7\n"})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	write := func(text string) {
		t.Helper()
		if err := c.Front.WriteFile("/etc/bproc/config", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		if got := ask(t, c.Front, cluster.Root, "bpctl", "reload"); got != want {
			t.Errorf("bpctl reload says\n%s\nwant\n%s", got, want)
		}
	}
	bad := func(user cluster.User, want string, argv ...string) {
		t.Helper()
		res, err := c.Front.Exec(t.Context(), user, argv...)
		if err != nil || res.Code != 1 || res.Stderr != want {
			t.Errorf("%v: got %+v, %v, want %q", argv, res, err, want)
		}
	}
	expect("nothing has changed")
	write("lease 20\nsteup none\nmode 8\n")
	const faults = "PROGRAM: /etc/bproc/config:2: unknown directive \"steup\"; is setup meant?\nPROGRAM: /etc/bproc/config:3: mode: \"8\" is no mode: it is octal, such as 111\n"
	bad(cluster.Root, strings.ReplaceAll(faults, "PROGRAM", "bpctl"), "bpctl", "reload")
	bad(cluster.Alice, strings.ReplaceAll(faults, "PROGRAM", "bpmaster"), "bpmaster", "--check-config")
	bad(cluster.Alice, "bpctl: permission denied: only root may have the configuration read again\n", "bpctl", "reload")
	bad(cluster.Alice, "bpmaster: configuration: open /no/file: no such file or directory\n", "bpmaster", "--check-config", "--config", "/no/file")
	write("pingtimeout 20\nsetup /etc/bproc/set-up\nnode 0-1 n%n\nmode 100\nowner root\n")
	bad(cluster.Alice, "bpmaster: setup: stat /etc/bproc/set-up: no such file or directory\n", "bpmaster", "--check-config")
	bad(cluster.Root, "bpctl: setup: stat /etc/bproc/set-up: no such file or directory\n", "bpctl", "reload")
	if err := c.Front.WriteFile("/etc/bproc/set-up", "#!/bin/sh\n", 0o755); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Alice, "bpmaster", "--check-config")
	expect("mode: 100, was 111\nsetup: /etc/bproc/set-up, was none\nnode 1: n1, new\nnode 7: not in the configuration any more, was n7")
	if got := ask(t, c.Front, cluster.Root, "bpstat", "-n"); got != "0\n1" {
		t.Errorf("there are nodes %q", got)
	}
	ask(t, c.Front, cluster.Alice, "bpsh", "0-1", "true") // they are up, and have their mode
	write("lease 10\nsetup none\n")
	if err := c.Master.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "SIGHUP has it read again", func() error {
		return logged(c, "front/log/bpmaster.log", `change="lease: 10s, was 20s; this takes a restart of bpmaster, which loses no node and no process"`)
	})
	write("leese 10\n")
	if err := c.Master.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "a bad one is told", func() error {
		return logged(c, "front/log/bpmaster.log", `unknown directive \"leese\"; is lease meant?`)
	})
	select {
	case <-c.Master.Done():
		t.Fatal("the master has ended")
	default:
	}
	if err := c.Front.Kill(r.ghost, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
}

// TestConfigNumbers checks that nodes get their numbers by address or by name, and their rights,
// when they join.
func TestConfigNumbers(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 3, NoSlaves: true, MasterConfig: "setup none\niprange 40 10.77.1.1 10.77.1.2\nnode 60-69 n%n\nmode 010\ngroup 12346\n"})
	for i := range 3 {
		token := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
		if err := c.StartSlave(t.Context(), i, "--join", token); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitUp(t.Context(), 0, 40, 41); err != nil {
		t.Fatal(err)
	}
	for node, host := range map[string]string{"40": "n0", "41": "n1", "0": "n2"} {
		if got := ask(t, c.Front, cluster.Bob, "bpsh", node, "hostname"); got != host {
			t.Errorf("node %s is %s, want %s", node, got, host)
		}
	}
	if res := bpsh(t, c, cluster.Alice, "40", "true"); res.Code == 0 {
		t.Error("alice, who is not in the group of the node, may start something there")
	}
}

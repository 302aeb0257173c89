package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// who is a user of the front end, possibly with a supplementary group.
type who struct {
	name  string
	user  cluster.User
	group string // supplementary; empty: none
}

// whos are the users whose rights are compared. The groups of alice and bob have their numbers.
var whos = []who{
	{"root", cluster.Root, ""},
	{"alice", cluster.Alice, ""},
	{"alice in bob's group", cluster.Alice, fmt.Sprint(cluster.Bob.GID)},
	{"bob", cluster.Bob, ""},
}

// command returns a command line as this user. Root switches to the user if there is a group.
func (w who) command(argv ...string) (cluster.User, []string) {
	if w.group == "" {
		return w.user, argv
	}
	as := []string{"setpriv", "--reuid", fmt.Sprint(w.user.UID), "--regid", fmt.Sprint(w.user.GID), "--groups", w.group}
	return cluster.Root, append(as, argv...)
}

// do runs a command as this user.
func (w who) do(t *testing.T, c *cluster.Cluster, argv ...string) cluster.Result {
	t.Helper()
	user, argv := w.command(argv...)
	res, err := c.Front.Exec(t.Context(), user, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestWhoMayRun checks that owner, group and mode of a node determine who may start processes
// there, as those of a file determine who may execute it; the first match of owner, group and
// others counts.
func TestWhoMayRun(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, Limited: true})
	if got := ask(t, c.Front, cluster.Alice, "bpstat", "-c", "0"); !strings.Contains(got, "---x--x--x root     root") {
		t.Errorf("a node that has joined is %q", got)
	}
	for _, tt := range []struct {
		owner, group, mode string
		may                [4]bool // of whos
	}{
		{"root", "root", "111", [4]bool{true, true, true, true}},
		{"root", "root", "100", [4]bool{true, false, false, false}},
		{"root", "root", "001", [4]bool{true, true, true, true}},
		{"root", "root", "000", [4]bool{true, false, false, false}},
		{"alice", "root", "100", [4]bool{true, true, true, false}},
		{"alice", "root", "011", [4]bool{true, false, false, true}},
		{"root", "bob", "010", [4]bool{true, false, true, true}},
		{"root", "bob", "101", [4]bool{true, true, false, false}},
		{"bob", "alice", "110", [4]bool{true, true, true, true}},
		{"bob", "alice", "001", [4]bool{true, false, false, false}},
		{"alice", "bob", "755", [4]bool{true, true, true, true}},
	} {
		ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-u", tt.owner, "-g", tt.group, "-m", tt.mode)
		for i, w := range whos {
			res := w.do(t, c, "bpsh", "0", "id", "-un")
			switch may := tt.may[i]; {
			case may && (res.Code != 0 || res.Stdout != w.user.Name+"\n"):
				t.Errorf("%s:%s %s: %s: got %+v, want allowed", tt.owner, tt.group, tt.mode, w.name, res)
			case !may && (res.Code != 255 || res.Stdout != "" || res.Stderr != "bpsh: node 0: permission denied\n"):
				t.Errorf("%s:%s %s: %s: got %+v, want denied", tt.owner, tt.group, tt.mode, w.name, res)
			}
		}
	}
	// Every way to place a process is denied, but none on the front end.
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-u", "root", "-g", "root", "-m", "100")
	for _, argv := range [][]string{{"bpsh", "0", "true"}, {"bpsh", "-a", "true"}, {"bprsh", "0", "true"}, {"bpcp", "/etc/hostname", "0:/tmp/x"}, {"bpcp", "0:/etc/hostname", "/tmp"}} {
		if res := whos[1].do(t, c, argv...); res.Code == 0 || strings.Count(res.Stderr, "\n") != 1 || !strings.Contains(res.Stderr, "node 0: permission denied") {
			t.Errorf("%v: got %+v, want denied in a line", argv, res)
		}
	}
	ask(t, c.Front, cluster.Alice, "bpsh", "-1", "true")
}

// TestWhoMayChange checks that root may change everything; the owner of a node its mode, and its
// group to one of the owner's; other users nothing.
func TestWhoMayChange(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, Limited: true})
	const owned = "---x------ alice    alice"
	for _, tt := range []struct {
		args string
		may  [4]bool // of whos; alice is the owner
	}{
		{"-S 0 -m 110", [4]bool{true, true, true, false}},
		{"-S 0 -g alice", [4]bool{true, true, true, false}},
		{"-S 0 -g bob", [4]bool{true, false, true, false}},
		{"-S 0 -g root", [4]bool{true, false, false, false}},
		{"-S 0 -u bob", [4]bool{true, false, false, false}},
		{"-S 0 -u alice", [4]bool{true, false, false, false}},
		{"-S 0 -s unavailable", [4]bool{true, false, false, false}},
		{"-S 0 -s up", [4]bool{true, false, false, false}},
		{"-S 0 --trust full", [4]bool{true, false, false, false}},
		{"-S 0 -R --no-wait", [4]bool{false, false, false, false}},
		{"drain 0", [4]bool{true, false, false, false}},
		{"undrain 0", [4]bool{true, false, false, false}},
		{"reload", [4]bool{true, false, false, false}},
		{"log 0", [4]bool{true, false, false, false}},
		{"tag 0 gpu", [4]bool{true, false, false, false}},
		{"untag 0 gpu", [4]bool{true, false, false, false}},
		{"enroll", [4]bool{true, false, false, false}},
		{"enroll --list", [4]bool{true, false, false, false}},
		{"enroll --revoke 0123456789abcdef", [4]bool{false, false, false, false}},
		{"revoke 1", [4]bool{false, false, false, false}},
		{"-S 0 --poweron", [4]bool{false, false, false, false}},
		{"-M -m 100", [4]bool{false, false, false, false}},
	} {
		for i, w := range whos {
			if i == 0 && strings.Contains(tt.args, "-R") {
				continue // the machine of this test must not reboot
			}
			ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-s", "up", "-u", "alice", "-g", "alice", "-m", "100")
			ask(t, c.Front, cluster.Root, "bpctl", "undrain", "0")
			res := w.do(t, c, append([]string{"bpctl"}, strings.Fields(tt.args)...)...)
			if may := tt.may[i]; may != (res.Code == 0) || !may && (res.Code != 1 || strings.Count(res.Stderr, "\n") != 1) {
				t.Errorf("bpctl %s: %s: got %+v, want allowed: %t", tt.args, w.name, res, may)
			}
			if got := ask(t, c.Front, cluster.Root, "bpstat", "0"); !tt.may[i] && (!strings.Contains(got, owned) || !strings.Contains(got, " up ")) {
				t.Errorf("bpctl %s: %s has changed it to %q", tt.args, w.name, got)
			}
		}
	}
}

// TestRightsTakenAway checks that a running process stays when its user's rights end: it forks, and
// its client comes back to it after the master was killed.
func TestRightsTakenAway(t *testing.T) {
	for _, taken := range []string{"-S 0 -m 0", "-S 0 -u bob -g bob -m 100", "-S 0 -s unavailable", "-S 0 -s error", "drain 0"} {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: 1, Limited: true})
			in, write := pipe(t)
			r := startRemoteWith(t, c, cluster.Alice, 0, in, "sh", "-c", "echo ready; while read line; do sh -c 'echo forked $0' $line; done; exit 7")
			in.Close()
			ask(t, c.Front, cluster.Root, append([]string{"bpctl"}, strings.Fields(taken)...)...)
			if res := bpsh(t, c, cluster.Alice, "0", "true"); res.Code != 255 {
				t.Errorf("another process: got %+v", res)
			}
			for i := range 2 {
				if _, err := fmt.Fprintln(write, i); err != nil {
					t.Fatal(err)
				}
				r.expect(fmt.Sprint("forked ", i))
				if i == 0 {
					again(t, c, false)
				}
			}
			if err := write.Close(); err != nil {
				t.Fatal(err)
			}
			if code := r.wait(); code != 7 {
				t.Errorf("exit code %d, want 7: %s", code, &r.stderr)
			}
		})
	}
}

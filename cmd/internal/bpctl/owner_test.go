package bpctl_test

import (
	"slices"
	"strings"
	"testing"

	"bproc/internal/client"
	"bproc/internal/fakegetent"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// TestDirectoryOwner sets users and groups that getent knows.
func TestDirectoryOwner(t *testing.T) {
	runs := fakegetent.Install(t, fakegetent.Alice)
	var asked log
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.ListNodes:
			c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 1, State: "up"}}})
		case *wire.SetNodes:
			asked.add(describe(1, m))
			c.Send(new(wire.NodesSet))
		}
	})
	code, _, bad := run(t, m.Client, strings.Fields("-S 1 -u alice -g hatters -u 4000010007 -u #4000010008")...)
	if want := []string{"1 uid 4000010001", "1 gid 4000010002", "1 uid 4000010007", "1 uid 4000010008"}; code != 0 || bad != "" || !slices.Equal(asked.list, want) {
		t.Errorf("got %d, %q, %q, want %q", code, bad, asked.list, want)
	}
	if got, want := runs(), []string{"passwd -- alice", "group -- hatters"}; !slices.Equal(got, want) {
		t.Errorf("getent was executed for %q, want %q", got, want)
	}
}

// TestDirectoryFails tells an unknown user from a getent that fails.
func TestDirectoryFails(t *testing.T) {
	for script, want := range map[string]string{
		"exit 2": "bpctl: option -u, --user: no such user: alice\n",
		"exit 1": "bpctl: option -u, --user: user alice cannot be looked up: getent: exit status 1\n",
	} {
		fakegetent.Install(t, script)
		if code, _, bad := run(t, client.Client{}, "-S", "1", "-u", "alice"); code != 1 || bad != want {
			t.Errorf("%s: got %d, %q, want %q", script, code, bad, want)
		}
	}
}

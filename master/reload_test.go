package master

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/master/nodeup"
	"bproc/wire"
)

// TestReload checks that changes are reported and hold, and that a faulty configuration changes
// nothing.
func TestReload(t *testing.T) {
	m := newMade(t, 0)
	m.nodes = nodeup.New(nodeup.Config{}, m.log, nil)
	if _, err := m.Reload(t.Context()); !errors.Is(err, errNoReload) {
		t.Errorf("without a file: %v", err)
	}
	text := ""
	m.cfg.Load = func() (Config, error) {
		c := DefaultConfig()
		return c, c.Read(strings.NewReader(text), "f")
	}
	m.reloads.current = DefaultConfig()
	for _, tt := range []struct {
		text string
		want []string
		err  string
	}{
		{"", nil, ""},
		{"lease 60\nsetup /x\nnode 4 n4\nmode 100", []string{
			"lease: 1m0s, was 30s; this takes a restart of bpmaster, which loses no node and no process",
			"mode: 100, was 111", "setup: /x, was /etc/bproc/node_up", "node 4: n4, new",
		}, ""},
		{"lease 60\nsetup none\nsteup /y", nil, `f:3: unknown directive "steup"; is setup meant?`},
		{"lease 60\nsetup none\nip 4 10.0.0.4\nnode 5 n5\npower-on ipmi %n", []string{
			"lease: 1m0s, was 30s; this takes a restart of bpmaster, which loses no node and no process",
			"mode: 111, was 100", "power-on: ipmi %n, was none", "setup: none, was /x", "node 4: 10.0.0.4, was n4", "node 5: n5, new",
		}, ""},
		{"", []string{
			"power-on: none, was ipmi %n", "setup: /etc/bproc/node_up, was none",
			"node 4: not in the configuration any more, was 10.0.0.4", "node 5: not in the configuration any more, was n5",
		}, ""},
	} {
		text = tt.text
		changes, err := m.Reload(t.Context())
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.err)
		}
		if !slices.Equal(changes, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.text, changes, tt.want)
		}
		var nodes []wire.Node
		m.state.look(func(c *core.Core) { nodes = c.NodeList() })
		for _, n := range nodes {
			if n.ID == 4 && tt.text == "" || n.ID == 4 && n.Mode != 0o100 && strings.Contains(tt.text, "mode 100") {
				t.Errorf("%q: there is %+v", tt.text, n)
			}
		}
		if len(nodes) == 0 || nodes[0].ID != 0 {
			t.Errorf("%q: node 0 is lost", tt.text)
		}
	}
}

// TestEveryDirectiveIsShown checks that a reload reports a change of each directive, except those
// that another directive shows, and those of nodes.
func TestEveryDirectiveIsShown(t *testing.T) {
	silent := []string{"node", "ip", "iprange", "master", "bprocport", "pingtimeout", "nodes", "block"}
	values := map[string]string{
		"listen": ":1", "socket": "/s", "lease": "7", "certificate": "1h", "ghosts": "/g", "squash": "7", "expected-nodes": "7", "expected-processes": "7",
		"process-numbers": "3145728", "mode": "100", "owner": "7", "group": "7", "setup": "/s", "setup-time": "7", "setups": "7", "logs": "/l",
		"power-on": "x", "power-time": "7",
	}
	for name, d := range directives {
		if d.show == nil {
			if !slices.Contains(silent, name) {
				t.Errorf("%s is not shown", name)
			}
			continue
		}
		was, is := DefaultConfig(), DefaultConfig()
		if err := is.Read(strings.NewReader(name+" "+values[name]), "f"); err != nil {
			t.Error(err)
			continue
		}
		changes := was.changes(&is)
		if len(changes) != 1 || !strings.HasPrefix(changes[0], name+": ") || strings.Contains(changes[0], "restart") != d.restart {
			t.Errorf("%s: got %q", name, changes)
		}
		kept := is
		kept.retain(&was)
		if left := was.changes(&kept); d.restart != (len(left) == 0) {
			t.Errorf("%s: the next reload would say %q", name, left)
		}
	}
}

// TestReloadAtSignals checks that signals have the configuration read again.
func TestReloadAtSignals(t *testing.T) {
	m := newMade(t)
	read := make(chan bool)
	m.nodes = nodeup.New(nodeup.Config{}, m.log, nil)
	m.cfg.Load = func() (Config, error) { read <- true; return Config{}, errors.New("it is not good") }
	signals := make(chan os.Signal, 1)
	m.cfg.Reloads = signals
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.reloadAtSignals(ctx) }()
	for range 2 {
		signals <- unix.SIGHUP
		select {
		case <-read:
		case <-time.After(time.Minute):
			t.Fatal("it is not read")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

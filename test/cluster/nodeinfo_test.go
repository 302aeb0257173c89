package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestStatFollows checks that bpstat -U prints each change of the node table, and goes on with
// another master.
func TestStatFollows(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	var nodes []struct {
		Number  int
		Status  string
		Address string
		CPUs    int
	}
	if err := json.Unmarshal([]byte(ask(t, c.Front, cluster.Alice, "bpstat", "--json")), &nodes); err != nil || len(nodes) != 2 || nodes[1].Number != 1 || nodes[1].Status != "up" || nodes[1].Address == "" || nodes[1].CPUs == 0 {
		t.Errorf("bpstat --json says %+v, %v", nodes, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := c.Front.Command(ctx, cluster.Alice, "bpstat", "-U", "-s", "1")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewReader(r)
	expect := func(want string) {
		t.Helper()
		got := ""
		for got == "" {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			got = strings.TrimSpace(line)
		}
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	expect("up")
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-s", "error")
	expect("error")
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-s", "up")
	expect("up")
	again(t, c, true)
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-s", "down")
	for line := ""; strings.TrimSpace(line) != "down"; {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInventory checks that nodes report their hardware, and again on request; a node that cannot
// read it is a node nevertheless.
func TestInventory(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	type machine struct {
		Number   int
		Problem  string
		Said     time.Time
		Hardware *struct {
			Kernel     string
			CPUs       int
			Memory     uint64
			BootID     string `json:"boot_id"`
			Interfaces []struct{ Addresses []string }
			Failed     []string
		}
	}
	inventory := func(args ...string) (all []machine) {
		t.Helper()
		text := ask(t, c.Front, cluster.Alice, append([]string{"bpstat", "--inventory", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return all
	}
	var all []machine
	cluster.Eventually(t, "all nodes say what they are", func() error {
		all = inventory()
		for _, m := range all {
			if m.Hardware == nil {
				return fmt.Errorf("node %d has not said what it is", m.Number)
			}
		}
		return nil
	})
	for i, m := range all {
		h := m.Hardware
		if h.Kernel == "" || h.CPUs == 0 || h.Memory == 0 || len(h.BootID) != 36 || len(h.Failed) > 0 {
			t.Errorf("node %d is %+v", i, h)
		}
		if len(h.Interfaces) == 0 || !strings.HasPrefix(h.Interfaces[0].Addresses[0], strings.TrimSpace(ask(t, c.Front, cluster.Alice, "bpstat", "-a", fmt.Sprint(i)))+"/") {
			t.Errorf("node %d has %+v", i, h.Interfaces)
		}
	}
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-s", "down")
	cluster.Eventually(t, "one node is away", func() error {
		again := inventory("--fresh")
		if again[0].Problem != "" || again[1].Problem != "the node is down" || again[1].Hardware == nil || again[0].Said.Before(all[0].Said) {
			return fmt.Errorf("got %+v", again)
		}
		return nil
	})
	if got := ask(t, c.Front, cluster.Alice, "bpstat", "--inventory", "0"); !strings.HasPrefix(got, "node 0 n0 (up)\n") || !strings.Contains(got, all[0].Hardware.BootID) {
		t.Errorf("got %s", got)
	}
}

// TestTags selects nodes by labels and by their own attributes, which outlast the master.
func TestTags(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 3})
	cluster.Eventually(t, "all nodes say what they are", func() error {
		if got := ask(t, c.Front, cluster.Alice, "bpstat", "-t", "attr:cores>0&attr:mem>=1M"); got != "3" {
			return fmt.Errorf("there are %s", got)
		}
		return nil
	})
	ask(t, c.Front, cluster.Root, "bpctl", "tag", "0,2", "gpu", "rack=4")
	ask(t, c.Front, cluster.Root, "bpctl", "tag", "1", "rack=10", "old")
	ask(t, c.Front, cluster.Root, "bpctl", "untag", "2", "gpu")
	if res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpctl", "tag", "0", "mine"); err != nil || res.Code != 1 || res.Stderr != "bpctl: node 0: permission denied: only root may change nodes, and the owner of one its mode and group\n" {
		t.Errorf("a user who sets a tag: %+v", res)
	}
	again(t, c, true)
	cluster.Eventually(t, "the nodes are back", func() error {
		if got := ask(t, c.Front, cluster.Alice, "bpstat", "-t", "up"); got != "3" {
			return fmt.Errorf("there are %s", got)
		}
		return nil
	})
	for spec, want := range map[string]string{
		"tag:gpu": "0", "tag:rack": "0 1 2", "attr:rack>4": "1", "!tag:old&up": "0 2", "(tag:gpu,tag:old)": "0 1", "random:3/up": "0 1 2", "attr:name=n1": "1",
	} {
		if got := strings.Join(strings.Fields(ask(t, c.Front, cluster.Alice, "bpstat", "-n", spec)), " "); got != want {
			t.Errorf("%s: bpstat says %q, want %q", spec, got, want)
		}
		if got := len(strings.Fields(bpsh(t, c, cluster.Alice, spec, "echo", "x").Stdout)); got != len(strings.Fields(want)) {
			t.Errorf("%s: it runs on %d nodes, want %q", spec, got, want)
		}
	}
	if got := len(strings.Fields(bpsh(t, c, cluster.Alice, "random:2/all", "hostname").Stdout)); got != 2 {
		t.Errorf("it runs on %d nodes, want 2", got)
	}
	if res := bpsh(t, c, cluster.Alice, "tag:nosuch", "true"); res.Code != 0 || res.Stderr != "bpsh: no node is tag:nosuch: nothing is run\n" {
		t.Errorf("on no node: %+v", res)
	}
	ask(t, c.Front, cluster.Root, "sh", "-c", "cd "+scratch(t)+" && echo hello >here && bpcp here tag:gpu:$PWD/there && bpcp tag:gpu:$PWD/there back && cmp here back")
}

// TestLoad checks that nodes report their load on request.
func TestLoad(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1000")
	var all []struct {
		Number, Processes int
		Problem           string
		Load              *struct {
			Averages          []float64
			Threads           int
			Memory, Available uint64
			Uptime            int
		}
	}
	if err := json.Unmarshal([]byte(ask(t, c.Front, cluster.Alice, "bpstat", "--load", "--json")), &all); err != nil || len(all) != 2 {
		t.Fatalf("got %+v, %v", all, err)
	}
	for i, n := range all {
		if l := n.Load; n.Number != i || n.Processes != i || n.Problem != "" || l == nil || len(l.Averages) != 3 || l.Threads == 0 || l.Memory == 0 || l.Available == 0 || l.Uptime == 0 {
			t.Errorf("node %d: got %+v %+v", i, n, n.Load)
		}
	}
	// A node that does not answer does not delay the others.
	if err := c.Slaves[0].Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "one node does not answer", func() error {
		got := ask(t, c.Front, cluster.Alice, "bpstat", "--load")
		if lines := strings.Split(got, "\n"); len(lines) != 3 || !strings.Contains(lines[1], "the node does not answer") || len(strings.Fields(lines[2])) < 9 {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
	if err := c.Slaves[0].Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.Front.Kill(r.ghost, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	r.wait()
}

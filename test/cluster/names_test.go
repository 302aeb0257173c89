package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// In these tests the names of the cluster are looked up with a hosts file that does not have them.
const ownHosts = "127.0.0.1 localhost\n10.99.0.9 elsewhere .9\n"

// setOwnHosts gives a node a hosts file with its master only.
func setOwnHosts(t *testing.T, c *cluster.Cluster, i int, more string) {
	t.Helper()
	setHosts(t, c.Nodes[i], ownHosts+c.Front.Addr.String()+" front\n"+more)
}

// startNamed starts a cluster without slaves, whose machines know only themselves.
func startNamed(t *testing.T, nodes int) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Nodes: nodes, NoSlaves: true, MasterConfig: "lease 3\n"})
	setHosts(t, c.Front, ownHosts)
	return c
}

func setHosts(t *testing.T, m *cluster.Machine, text string) {
	t.Helper()
	if err := m.WriteFile("/etc/hosts", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// joinNamed joins nodes and waits until they are up.
func joinNamed(t *testing.T, c *cluster.Cluster, nodes ...int) {
	t.Helper()
	for _, i := range nodes {
		token, err := c.Enroll(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartSlave(t.Context(), i, "--join", token); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitUp(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// addresses returns the addresses of names for a process of a node, by the C library.
func addresses(t *testing.T, c *cluster.Cluster, node int, names ...string) string {
	t.Helper()
	argv := append([]string{"bpsh", fmt.Sprint(node), "sh", "-c", `for name; do getent ahostsv4 "$name" | awk 'NR == 1 {print $1}'; done`, "sh"}, names...)
	return strings.Join(strings.Fields(ask(t, c.Front, cluster.Alice, argv...)), " ")
}

func addressOf(c *cluster.Cluster, i int) string { return c.Nodes[i].Addr.String() }

// TestNamesOnNodes checks that processes know the machines of the cluster from the beginning, also
// when other nodes come and move, and with another master or daemon of the node.
func TestNamesOnNodes(t *testing.T) {
	t.Parallel()
	c := startNamed(t, 3)
	setOwnHosts(t, c, 0, "")
	before := ask(t, c.Nodes[0], cluster.Root, "md5sum", "/etc/hosts")
	joinNamed(t, c, 0)
	front, n0, n1, n2 := c.Front.Addr.String(), addressOf(c, 0), addressOf(c, 1), addressOf(c, 2)
	if got, want := addresses(t, c, 0, "master", "self", "n0", ".0", "localhost", ".9", "n1"), front+" "+n0+" "+n0+" "+n0+" 127.0.0.1 10.99.0.9"; got != want {
		t.Errorf("the first process finds %s, want %s", got, want)
	}
	// A running process learns of new nodes.
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; until getent hosts n1 >/dev/null && getent hosts .2 >/dev/null; do sleep 0.1; done; echo both")
	joinNamed(t, c, 1, 2)
	r.expect("both")
	r.wait()
	if got, want := addresses(t, c, 1, "self", "n0", "n2", "master"), strings.Join([]string{n1, n0, n2, front}, " "); got != want {
		t.Errorf("node 1 finds %s, want %s", got, want)
	}
	// The node's own file is unchanged.
	if after := ask(t, c.Nodes[0], cluster.Root, "md5sum", "/etc/hosts"); after != before {
		t.Errorf("/etc/hosts of the node has changed: %s, was %s", after, before)
	}
	res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, "getent", "hosts", "master")
	if err != nil || res.Code == 0 {
		t.Errorf("the node itself knows %q: %v", res.Stdout, err)
	}
	// The node's own file is written, and replaced.
	setOwnHosts(t, c, 0, "10.99.0.7 n2\n")
	eventuallyFinds(t, c, 0, "10.99.0.7 "+n2, "n2", ".2")
	ask(t, c.Nodes[0], cluster.Root, "sh", "-c", "echo 10.99.0.8 other | cat - /etc/hosts | grep -v n2 >/etc/hosts.next && mv /etc/hosts.next /etc/hosts")
	eventuallyFinds(t, c, 0, "10.99.0.8 "+n2+" "+n0, "other", "n2", "self")
	// A node that is down keeps its address; a restarted master knows none at first.
	if err := c.Nodes[2].Off(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitDown(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if got := addresses(t, c, 0, "n2"); got != n2 {
		t.Errorf("node 2, which is down, has the address %s, want %s", got, n2)
	}
	again(t, c, false)
	if got, want := addresses(t, c, 0, "n1", "n2"), n1+" "+n2; got != want {
		t.Errorf("with another master there is %s, want %s", got, want)
	}
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got, want := addresses(t, c, 0, "n1", "self", "other"), n1+" "+n0+" 10.99.0.8"; got != want {
		t.Errorf("with another daemon there is %s, want %s", got, want)
	}
}

// eventuallyFinds waits until names have an address on a node.
func eventuallyFinds(t *testing.T, c *cluster.Cluster, node int, want string, names ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("node %d knows %v", node, names), func() error {
		if got := addresses(t, c, node, names...); got != want {
			return fmt.Errorf("it finds %s, want %s", got, want)
		}
		return nil
	})
}

// TestNamesOnFrontEnd checks that bpctl hosts maintains /etc/hosts, by which programs find nodes.
func TestNamesOnFrontEnd(t *testing.T) {
	t.Parallel()
	c := startNamed(t, 2)
	joinNamed(t, c, 0)
	front, n0, n1 := c.Front.Addr.String(), addressOf(c, 0), addressOf(c, 1)
	lines := front + "\tmaster self\n" + n0 + "\tn0 .0"
	if got := ask(t, c.Front, cluster.Alice, "bpctl", "hosts"); got != lines {
		t.Errorf("bpctl hosts prints %q, want %q", got, lines)
	}
	follower := c.Front.Command(t.Context(), cluster.Root, "bpctl", "hosts", "--write", "/etc/hosts", "--follow")
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	is := func(want string) {
		t.Helper()
		cluster.Eventually(t, "/etc/hosts is written", func() error {
			got, err := c.Front.ReadFile("/etc/hosts")
			if err == nil && string(got) != want {
				err = fmt.Errorf("it is %q, want %q", got, want)
			}
			return err
		})
	}
	is(ownHosts + "# bproc: begin\n" + lines + "\n# bproc: end\n")
	joinNamed(t, c, 1)
	all := ownHosts + "# bproc: begin\n" + lines + "\n" + n1 + "\tn1 .1\n# bproc: end\n"
	is(all)
	again(t, c, false) // the next one knows the nodes as they connect
	if err := c.WaitUp(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	is(all)
	if got := ask(t, c.Front, cluster.Alice, "getent", "hosts", "n1", ".0", "self"); strings.Join(strings.Fields(got), " ") != fmt.Sprintf("%s n1 .1 %s n0 .0 %s master self", n1, n0, front) {
		t.Errorf("getent finds %q", got)
	}
	// No server listens there, and the node refuses the connection.
	res, err := c.Front.Exec(t.Context(), cluster.Alice, "ssh", "-v", "-F", "none", "-o", "BatchMode=yes", ".1", "true")
	if err != nil || !strings.Contains(res.Stderr, "Connecting to .1 ["+n1+"] port 22") || !strings.Contains(res.Stderr, "Connection refused") {
		t.Errorf("%v: ssh says %s", err, res.Stderr)
	}
	if err := follower.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = follower.Wait() // it was killed
	ask(t, c.Front, cluster.Root, "bpctl", "hosts", "-w", "/etc/hosts", "--remove")
	is(ownHosts)
}

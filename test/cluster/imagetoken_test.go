package cluster_test

import (
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"bproc/test/cluster"
)

// bootImage boots nodes at the same moment from an image with a token, and waits until as many have
// joined as can.
func bootImage(t *testing.T, c *cluster.Cluster, token string, nodes ...int) {
	t.Helper()
	var boots errgroup.Group
	for _, i := range nodes {
		if err := c.Nodes[i].WriteFile(tokenFile, token+"\n", 0o600); err != nil {
			t.Fatal(err)
		}
		boots.Go(func() error { return c.StartSlave(t.Context(), i, "--join-file", tokenFile) })
	}
	if err := boots.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestImageToken boots machines with the same host name from one image: as many join as the token
// allows, each as a node of its own, and the others report why they cannot. The same holds with
// another master.
func TestImageToken(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 3, NoSlaves: true})
	for _, n := range c.Nodes {
		ask(t, n, cluster.Root, "hostname", "image")
	}
	token := ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--count", "2")
	bootImage(t, c, token, 0, 1)
	if err := c.WaitUp(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--list"))
	if len(list) < 6 || list[5] != "2/2" {
		t.Fatalf("bpctl enroll --list prints %q", list)
	}
	again(t, c, false)
	res, err := c.Nodes[2].Exec(t.Context(), cluster.Root, "bpslave", "--join", token, "front")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpslave", 77, "token was used already", "bpctl enroll")
	if err := c.WaitUp(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "0,1", "cat", "/proc/sys/kernel/hostname"); res.Stdout != "image\nimage\n" {
		t.Errorf("got %+v", res)
	}
	keys := ask(t, c.Front, cluster.Root, "sh", "-c", "bpsh 0,1 md5sum /var/lib/bproc/slave/identity/* | sort | uniq -d -w 32")
	if strings.Contains(keys, "key") {
		t.Errorf("nodes have the same keys: %s", keys)
	}
	other := ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--count", "9")
	if res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpctl", "enroll", "--list"); err != nil || res.Code != 1 {
		t.Errorf("alice sees tokens: %+v, %v", res, err)
	}
	for _, id := range strings.Fields(ask(t, c.Front, cluster.Root, "sh", "-c", "bpctl enroll --list | awk 'NR > 1 {print $1}'")) {
		ask(t, c.Front, cluster.Root, "bpctl", "enroll", "--revoke", id)
	}
	if res, err = c.Nodes[2].Exec(t.Context(), cluster.Root, "bpslave", "--join", other, "front"); err != nil {
		t.Fatal(err)
	}
	wantError(t, res, "bpslave", 77, "token was revoked", "bpctl enroll")
}

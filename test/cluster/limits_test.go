package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bproc/test/cluster"
)

// TestForkBomb has an ordinary user start a fork bomb on a node. The master, the node and its other
// users go on working. A user of only the front end ends it from there.
func TestForkBomb(t *testing.T) {
	const limit = 500 // of the user's processes, as pam_limits would set it
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	bomb := c.Front.Command(t.Context(), cluster.Alice, "sh", "-c",
		fmt.Sprintf("ulimit -u %d; exec bpsh 1 %s", limit, conform(t, "bomb")))
	if err := bomb.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bomb.Process.Kill()
		_ = bomb.Wait()
	})
	cluster.Eventually(t, "the bomb goes off", func() error {
		all, err := c.Nodes[1].Named("bomb")
		if err == nil && len(all) < limit/10 {
			err = fmt.Errorf("%d processes", len(all))
		}
		return err
	})
	for round := range 3 {
		for _, argv := range [][]string{{"bpsh", "0", "true"}, {"bpsh", "1", "sh", "-c", "true & wait"}, {"bpstat"}} {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
			defer cancel()
			res, err := c.Front.Exec(ctx, cluster.Bob, argv...)
			if err != nil || res.Code != 0 {
				t.Errorf("round %d, after %v: %v: %+v, %v", round, time.Since(begin), argv, res, err)
			}
		}
	}
	// The bomb may have a child while pkill looks for others: as natively, one run may not be
	// enough.
	cluster.Eventually(t, "pkill on the front end ends it", func() error {
		if _, err := c.Front.Exec(t.Context(), cluster.Root, "pkill", "-9", "-u", "alice"); err != nil {
			return err
		}
		return idle(c)
	})
	_ = bomb.Wait()
	if res := bpsh(t, c, cluster.Alice, "1", "sh", "-c", "true & wait; echo works"); res.Stdout != "works\n" {
		t.Errorf("after that: got %+v", res)
	}
}

package cluster_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"testing"

	"bproc/test/cluster"
	"bproc/test/cluster/liars"
)

// TestHangingGhosts has clients name processes as ghosts that do not stop for their keeper, more of
// each kind than the keeper has threads. Other processes start, get signals and end as usual.
func TestHangingGhosts(t *testing.T) {
	t.Parallel()
	const each = 9
	for _, kind := range liars.Kinds {
		t.Run(kind, func(t *testing.T) {
			c := cluster.Start(t, cluster.Config{Nodes: 1})
			before := startRemote(t, c, cluster.Bob, 0, "sh", "-c", "trap 'echo got it' USR1; echo ready; while :; do sleep 0.1 & wait; done")
			count := each
			if kind == "idle" {
				count = 1 // it uses a processor
			}
			var ends []func()
			for range count {
				ends = append(ends, startLiar(t, c, kind))
			}
			for i := range 20 {
				if got, want := ask(t, c.Front, cluster.Bob, "bpsh", "0", "sh", "-c", fmt.Sprintf("sleep 0; echo %d", i)), fmt.Sprint(i); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			ask(t, c.Front, cluster.Bob, "kill", "-USR1", fmt.Sprint(before.ghost))
			before.expect("got it")
			ask(t, c.Front, cluster.Bob, "kill", "-KILL", fmt.Sprint(before.ghost))
			before.wait()
			for _, end := range ends {
				end()
			}
			cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
		})
	}
}

// startLiar starts a liar of Alice's, and returns a function that ends it.
func startLiar(t *testing.T, c *cluster.Cluster, kind string) (end func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	cmd := c.Front.Command(t.Context(), cluster.Root, self, kind, fmt.Sprint(cluster.Alice.UID), "0")
	cmd.Env = append(cmd.Env, liars.Variable+"=1")
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "named\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return func() {
		t.Helper()
		w.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("liar: %v", err)
		}
	}
}

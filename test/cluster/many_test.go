package cluster_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"bproc/test/cluster"
)

// TestManyAtOnce runs 200 commands concurrently and checks each one's output and status.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const commands = 200
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	var all errgroup.Group
	for i := range commands {
		all.Go(func() error {
			// The first line is before a pause, the last one after it: all run at the same time.
			res, err := c.Front.Exec(t.Context(), users[i%2], "bpsh", fmt.Sprint(i%4), "sh", "-c",
				fmt.Sprintf("echo begin %d; sleep 1; echo end %d >&2; exit %d", i, i, i))
			want := cluster.Result{Stdout: fmt.Sprintf("begin %d\n", i), Stderr: fmt.Sprintf("end %d\n", i), Code: i}
			if err == nil && res != want {
				err = fmt.Errorf("got %+v, want %+v", res, want)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

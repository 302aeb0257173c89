package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"bproc"
	"bproc/test/cluster"
)

// launcherVariable makes this binary a program that uses the client library on the front end: its
// arguments are a node and a command.
const launcherVariable = "BPROCTEST_LAUNCHER"

// launcher runs a command and prints its status in the form of wait4.
func launcher(args []string) error {
	node, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	client := bproc.Client{GhostPath: cluster.Prefix + "/lib/bproc/ghost"}
	cmd := client.Command(bproc.NodeID(node), args[1], args[2:]...)
	var exit *bproc.ExitError
	if err := cmd.Run(context.Background()); err != nil && !errors.As(err, &exit) {
		return err
	}
	fmt.Printf("%#x\n", uint32(cmd.Status))
	return nil
}

// TestParentSeesEnd checks what the parent of a ghost gets from wait4 when the remote process ends.
func TestParentSeesEnd(t *testing.T) {
	t.Parallel()
	const coreFlag = 0x80 // wait(2), WCOREDUMP
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, script string
		want         uint64
	}{
		{"exit 0", "exit 0", 0},
		{"exit 255", "exit 255", 255 << 8},
		{"killed by 11", "ulimit -c 0; kill -SEGV $$", uint64(unix.SIGSEGV)},
		{"killed by 9", "kill -KILL $$", uint64(unix.SIGKILL)},
		{"killed by a real-time signal", "kill -40 $$", 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := c.Front.Command(t.Context(), cluster.Root, self, "2", "sh", "-c", tc.script)
			cmd.Env = append(cmd.Env, launcherVariable+"=1")
			res, err := cmd.Result()
			if err != nil {
				t.Fatal(err)
			}
			status, err := strconv.ParseUint(res.Stdout[:max(len(res.Stdout)-1, 0)], 0, 32)
			if err != nil || status&^coreFlag != tc.want {
				t.Errorf("got %+v, want status %#x", res, tc.want)
			}
		})
	}
}

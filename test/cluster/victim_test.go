package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// victimTimeout is how long a process may take to start a cluster, and to end when it is killed.
var victimTimeout = limit.Scaled(2 * time.Minute)

// TestNothingSurvivesTheTests kills a test process in the middle of its work, and checks what it
// could have left.
func TestNothingSurvivesTheTests(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGINT, unix.SIGTERM} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), victimTimeout)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/proc/self/exe")
			cmd.WaitDelay = lineTimeout // its janitor also has its standard error
			cmd.Env = append(os.Environ(), victimVariable+"=1")
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("the victim did not start: %q, %v", line, err)
			}
			site := fmt.Sprintf("bproctest-%d-", cmd.Process.Pid)
			if err := traces(site); err == nil {
				t.Fatal("a running cluster has no traces: what is looked for is wrong")
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatalf("the victim survived %v", sig)
			}
			cluster.Eventually(t, "everything of a killed test process is gone", func() error { return traces(site) })
		})
	}
}

// traces looks for the directory, the control groups and the processes of a site.
func traces(site string) error {
	var found []string
	for _, pattern := range []string{"/var/tmp/", os.TempDir() + "/", "/srv/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		names, err := filepath.Glob(pattern + site + "*")
		if err != nil {
			return err
		}
		found = append(found, names...)
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return err
	}
	for _, file := range groups {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "/"+site) {
			found = append(found, filepath.Dir(file))
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("left behind: %v", found)
	}
	return nil
}

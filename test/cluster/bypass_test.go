package cluster_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// connections returns how many connections of TCP a node has with the master: one is its link, others are bypasses.
func connections(t *testing.T, m *cluster.Machine) int {
	t.Helper()
	return strings.Count(ask(t, m, cluster.Root, "ss", "-Htn", "state", "established", "dport", "=", ":2223")+"\n", ":2223")
}

// TestBypass has much go both ways. It goes by a bypass, which can break, as can all that it goes past: the
// bytes go on after those that have come. Nothing of it is left when the process has ended.
func TestBypass(t *testing.T) {
	t.Parallel()
	const size = 512 << 20
	program := cluster.Program(t, pattern)
	for _, tc := range []struct {
		name    string
		disturb func(t *testing.T, c *cluster.Cluster)
	}{
		{"undisturbed", func(*testing.T, *cluster.Cluster) {}},
		{"broken", func(t *testing.T, c *cluster.Cluster) {
			ask(t, c.Nodes[0], cluster.Root, "ss", "-K", "dport", "=", ":2223") // the link, too, which goes on by itself
		}},
		{"another master", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Master.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.StartMaster(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"another slave", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Slaves[0].Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.StartSlave(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: 1})
			script := fmt.Sprintf("%[1]s write %[2]d | bpsh 0 cat | %[1]s check %[2]d", program, size)
			cmd := c.Front.Command(t.Context(), cluster.Alice, "bash", "-o", "pipefail", "-c", script)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			bypassed(t, c)
			tc.disturb(t, c)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, &errs)
			}
			if want := fmt.Sprintf("%d bytes as written\n", size); out.String() != want {
				t.Errorf("got %q, want %q", &out, want)
			}
			cluster.Eventually(t, "the bypass has ended", func() error {
				if n := connections(t, c.Nodes[0]); n != 1 {
					return fmt.Errorf("%d connections", n)
				}
				return idle(c)
			})
		})
	}
}

// bypassed waits until a node has a bypass.
func bypassed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cluster.Eventually(t, "there is a bypass", func() error {
		if n := connections(t, c.Nodes[0]); n < 2 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
}

// TestWidePipes has much go through pipes of the user's: they get room for it. The user is root, since the kernel
// counts the room in all pipes of who made them, and bounds it for everybody else (pipe(7), pipe-user-pages-soft): here all
// pipes of all tests.
func TestWidePipes(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	var input, output [2]*os.File
	for _, p := range []*[2]*os.File{&input, &output} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		*p = [2]*os.File{r, w}
	}
	cmd := c.Front.Command(t.Context(), cluster.Root, "bpsh", "0", "cat")
	cmd.Stdin, cmd.Stdout = input[0], output[1]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := input[1].Write(make([]byte, size))
		written <- err
	}()
	if _, err := io.CopyN(io.Discard, output[0], size); err != nil {
		t.Error(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	for name, f := range map[string]*os.File{"input": input[1], "output": output[0]} {
		cluster.Eventually(t, "the pipe is wide", func() error {
			if n, err := unix.FcntlInt(f.Fd(), unix.F_GETPIPE_SZ, 0); err != nil || n != 256<<10 {
				return fmt.Errorf("%s: %d bytes, %v", name, n, err)
			}
			return nil
		})
	}
	input[1].Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestBypassKeepsOrder has a process print the numbers of what it has started, among much else: whoever reads one finds
// the ghost. They end when all have been read.
func TestBypassKeepsOrder(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const (
		children = 300
		much     = `head -c 200000 /dev/zero | tr '\0' '\n'`
		script   = `for i in $(seq 100); do ` + much + `; done; for i in $(seq %d); do sleep 1000 >&- & echo $!; ` + much + `; done; echo end; read; kill $(jobs -p)`
		reader   = `{ exec 3>"$1"; while read pid; do if [ $pid = end ]; then exec 3>&-; elif [ -d /proc/$pid ]; then echo seen; else echo "no $pid"; fi; done; }`
		check    = `mkfifo "$1"; bpsh 0 bash -c "$0" <"$1" | grep --line-buffered . | ` + reader + ` | sort | uniq -c`
	)
	fifo := filepath.Join(t.TempDir(), "all-seen")
	got := strings.Fields(ask(t, c.Front, cluster.Root, "bash", "-c", check, fmt.Sprintf(script, children), fifo))
	if want := fmt.Sprintf("[%d seen]", children); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

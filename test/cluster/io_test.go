package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

const gibibyte = 1 << 30

// TestGibibytes sends a gibibyte each way, byte for byte.
func TestGibibytes(t *testing.T) {
	t.Parallel()
	program := cluster.Program(t, pattern)
	for _, tc := range []struct{ name, script string }{
		{"output", "bpsh 2 %[1]s write %[2]d | %[1]s check %[2]d"},
		{"input", "%[1]s write %[2]d | bpsh 2 %[1]s check %[2]d"},
		{"both", "%[1]s write %[2]d | bpsh 2 cat | %[1]s check %[2]d"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			wantIdle(t, c)
			got := ask(t, c.Front, cluster.Alice, "bash", "-o", "pipefail", "-c", fmt.Sprintf(tc.script, program, gibibyte))
			if want := fmt.Sprintf("%d bytes as written", gibibyte); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestStoppedReader has a reader that stops reading: the writer stops, others do not, and nothing
// is lost when the reader goes on.
func TestStoppedReader(t *testing.T) {
	t.Parallel()
	const buffered = 64 << 20 // bytes of the writer that may be in buffers
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	program := cluster.Program(t, pattern)
	out, in := pipe(t)
	writer := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "1", program, "write", fmt.Sprint(gibibyte))
	writer.Stdout = in
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()

	var before int
	cluster.Eventually(t, "the writer stops", func() error {
		now := written(t, c.Nodes[1], "pattern")
		if now == 0 || now != before {
			before = now
			time.Sleep(watch / 4) // between two checks
			return fmt.Errorf("it has written %d", now)
		}
		return nil
	})
	if before > buffered {
		t.Errorf("%d bytes are on the way to a reader that does not read, want at most %d", before, buffered)
	}
	if res := bpsh(t, c, cluster.Alice, "all", "echo", "works"); res.Stdout != strings.Repeat("works\n", 4) {
		t.Errorf("meanwhile, on all nodes: got %+v", res)
	}

	check := c.Front.Command(t.Context(), cluster.Alice, program, "check", fmt.Sprint(gibibyte))
	check.Stdin = out
	res, err := check.Result()
	if err != nil || res.Code != 0 {
		t.Errorf("when the reader goes on: got %+v, %v", res, err)
	}
	if err := writer.Wait(); err != nil {
		t.Error(err)
	}
}

// written returns how many bytes the process with this command name has written.
func written(t *testing.T, m *cluster.Machine, comm string) int {
	t.Helper()
	procs, err := m.Named(comm)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		text, err := m.ReadFile(fmt.Sprintf("/proc/%d/io", p.PID))
		if err != nil {
			continue // it has ended
		}
		var n int
		_, after, _ := strings.Cut(string(text), "wchar: ")
		if _, err := fmt.Sscan(after, &n); err == nil {
			return n
		}
	}
	return 0
}

// TestClosedReader has a writer whose reader has ended die of SIGPIPE.
func TestClosedReader(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	if got := ask(t, c.Front, cluster.Alice, "bash", "-c", "bpsh 3 yes | head -2"); got != "y\ny" {
		t.Errorf("got %q, want two lines", got)
	}
}

// TestOutputsApart checks that standard output and standard error stay separate.
func TestOutputsApart(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	res := bpsh(t, c, cluster.Alice, "0", "sh", "-c", "echo out; echo err >&2")
	if res.Stdout != "out\n" || res.Stderr != "err\n" {
		t.Errorf("got %+v", res)
	}
}

// TestInputToAll checks that each node gets the whole input.
func TestInputToAll(t *testing.T) {
	t.Parallel()
	const size = 10_000_000
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	got := ask(t, c.Front, cluster.Alice, "bash", "-c", fmt.Sprintf("%[1]s write %[2]d | bpsh all %[1]s check %[2]d", cluster.Program(t, pattern), size))
	if want := strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d bytes as written\n", size), 4)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoInput checks that a command without input does not read its caller's.
func TestNoInput(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	got := ask(t, c.Front, cluster.Alice, "sh", "-c", "printf 'a\\nb\\n' | { bpsh -n 0 cat; cat; }")
	if got != "a\nb" {
		t.Errorf("got %q, want both lines to stay", got)
	}
}

// TestFilesOfTheNode opens files of the node for the descriptors.
func TestFilesOfTheNode(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	ask(t, c.Front, cluster.Root, "bpsh", "-I", "/etc/hostname", "-O", "/run/out", "-E", "/run/err", "2", "sh", "-c", "cat; echo bad >&2")
	for file, want := range map[string]string{"/run/out": "n2\n", "/run/err": "bad\n"} {
		if got, err := c.Nodes[2].ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s on the node: got %q, %v, want %q", file, got, err, want)
		}
		if path, err := c.Nodes[2].Path(file); err == nil {
			_ = os.Remove(path)
		}
	}
}

package nodeup_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/nodeup"
	"bproc/wire"
)

// fixture is a runner with a script.
type fixture struct {
	*nodeup.Runner
	t       *testing.T
	cfg     nodeup.Config
	results chan nodeup.Result
}

func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, results: make(chan nodeup.Result, 100), cfg: nodeup.Config{
		Script: filepath.Join(dir, "node_up"), Deadline: time.Minute, Parallel: 4, Logs: filepath.Join(dir, "log"),
	}}
	f.write(script)
	f.Runner = nodeup.New(f.cfg, slog.New(slog.DiscardHandler), func(_ context.Context, r nodeup.Result) { f.results <- r })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// write replaces the script, while no other test starts a program: that would inherit the open file, and until
// it executes the script would be busy (execve(2), ETXTBSY).
func (f *fixture) write(script string) {
	f.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(f.cfg.Script, []byte(script), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// result returns how a set-up has ended, without the name of the directory.
func (f *fixture) result() string {
	f.t.Helper()
	select {
	case r := <-f.results:
		return fmt.Sprintf("%d.%d %s", r.Node, r.Attempt, strings.ReplaceAll(r.Failed, filepath.Dir(f.cfg.Script)+"/", ""))
	case <-time.After(time.Minute):
		f.t.Fatal("no result")
		return ""
	}
}

func (f *fixture) logOf(id wire.NodeID) string {
	f.t.Helper()
	var text bytes.Buffer
	err := f.ReadLog(f.t.Context(), id, false, func(b []byte) error { text.Write(b); return nil })
	if err != nil {
		f.t.Fatal(err)
	}
	return text.String()
}

func TestSetUp(t *testing.T) {
	for _, tt := range []struct{ name, script, want, log string }{
		{"done", "#!/bin/sh\necho node $1 is $NODE $NODE_NAME $NODE_ADDR; echo bad >&2; pwd", "3.7 ", "node 3 is 3 n3 10.0.0.3\nbad\n/\n"},
		{"fails", "#!/bin/sh\necho no disk; exit 4", "3.7 set-up script node_up: exit status 4; see 'bpctl log 3'", "no disk\n"},
		{"killed", "#!/bin/sh\nkill -9 $$", "3.7 set-up script node_up: signal: killed; see 'bpctl log 3'", ""},
		{"no program", "echo x\n", "3.7 set-up script node_up: it cannot be executed (exec format error): its first line must be one like #!/bin/sh; see 'bpctl log 3'", ""},
		{"no interpreter", "#!/no/sh\n", "3.7 set-up script node_up: no such file or directory; see 'bpctl log 3'", ""},
		{"leaves a process", "#!/bin/sh\nsleep 100 & echo $!", "3.7 ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.script)
			if !f.SetUp(nodeup.Job{Node: 3, Attempt: 7, Name: "n3", Addr: "10.0.0.3"}) {
				t.Fatal("there is nothing to be done")
			}
			if got := f.result(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			log := f.logOf(3)
			if !strings.Contains(log, tt.log) || !strings.Contains(log, " "+f.cfg.Script+" 3\n") || !strings.Contains(log, "the set-up ") {
				t.Errorf("its log is %q", log)
			}
			if tt.name == "leaves a process" {
				end(t, log)
			}
		})
	}
}

// TestLogCannotBeWritten has a script print more than a pipe holds while its log cannot be written:
// the script does not fail, and its node comes up.
func TestLogCannotBeWritten(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\nset -e\nfor i in 1 2 3; do head -c 70000 /dev/zero; done\n")
	if err := os.WriteFile(f.cfg.Logs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.SetUp(nodeup.Job{Node: 3, Attempt: 7})
	if got, want := f.result(), "3.7 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// end ends the process that a script has left behind. Its number is a line of the log.
func end(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var pid int
		if _, err := fmt.Sscanf(line, "%d\n", &pid); err == nil {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("no process was left behind: %q", log)
}

func TestScriptIsNotThere(t *testing.T) {
	f := newFixture(t, "")
	if err := os.Chmod(f.cfg.Script, 0o644); err != nil {
		t.Fatal(err)
	}
	f.SetUp(nodeup.Job{Node: 1, Attempt: 1})
	if got, want := f.result(), "1.1 set-up script node_up: it cannot be executed (permission denied): make it executable with 'chmod +x'; see 'bpctl log 1'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Remove(f.cfg.Script); err != nil {
		t.Fatal(err)
	}
	f.SetUp(nodeup.Job{Node: 1, Attempt: 2})
	if got, want := f.result(), "1.2 set-up script node_up: no such file or directory; see 'bpctl log 1'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.cfg.Optional = true
	f.Configure(f.cfg)
	if f.SetUp(nodeup.Job{Node: 1, Attempt: 3}) {
		t.Error("there is something to be done without a script")
	}
}

// TestLate has a script run for too long: it is killed with the processes that it has started.
func TestLate(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\nsleep 1000 & echo $!; wait")
	f.cfg.Deadline = 300 * time.Millisecond
	f.Configure(f.cfg)
	f.SetUp(nodeup.Job{Node: 2, Attempt: 1})
	if got, want := f.result(), "2.1 set-up script node_up: it has not ended within 300ms, and was killed; see 'bpctl log 2'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var pid int
	for line := range strings.Lines(f.logOf(2)) {
		if _, err := fmt.Sscanf(line, "%d\n", &pid); err == nil {
			break
		}
	}
	for range 1000 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d of the script lives on", pid)
}

// TestStop checks that the result of a set-up that is stopped, or made anew, is not reported, and
// that other set-ups wait for their turn.
func TestStop(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\necho begun; test $1 = 9 || exec sleep 1000")
	for node := range wire.NodeID(4) {
		f.SetUp(nodeup.Job{Node: node, Attempt: 1})
	}
	for node := range wire.NodeID(4) {
		for until := time.Now().Add(time.Minute); !strings.Contains(f.logOf(node), "begun\n"); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("the script of node %d does not begin", node)
			}
		}
	}
	f.SetUp(nodeup.Job{Node: 9, Attempt: 2})
	f.SetUp(nodeup.Job{Node: 8, Attempt: 3})
	f.Stop(8)
	f.write("#!/bin/sh\n")
	f.SetUp(nodeup.Job{Node: 0, Attempt: 4})
	got := map[string]bool{f.result(): true, f.result(): true}
	if !got["9.2 "] || !got["0.4 "] {
		t.Errorf("got %v", got)
	}
	for node := range wire.NodeID(4) {
		f.Stop(node)
	}
	select {
	case r := <-f.results:
		t.Errorf("also: %+v", r)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestPowerOn(t *testing.T) {
	f := newFixture(t, "")
	if err := f.PowerOn(t.Context(), 5, "rack-5"); err != nodeup.ErrNoPowerOn { //nolint:errorlint // the very one
		t.Errorf("without a command: %v", err)
	}
	f.cfg.PowerOn = []string{"echo", "100%%", "%n", "bmc-%h"}
	f.Configure(f.cfg)
	if err := f.PowerOn(t.Context(), 5, "rack-5"); err != nil || !strings.Contains(f.logOf(5), "\n100% 5 bmc-rack-5\n") {
		t.Errorf("got %v, %q", err, f.logOf(5))
	}
	f.cfg.PowerOn = []string{"sh", "-c", "exit 3"}
	f.Configure(f.cfg)
	if err := f.PowerOn(t.Context(), 5, "rack-5"); err == nil || err.Error() != "sh -c exit 3: exit status 3; see 'bpctl log 5'" {
		t.Errorf("got %v", err)
	}
	f.cfg.PowerOn = []string{"no-such-command"}
	f.Configure(f.cfg)
	if err := f.PowerOn(t.Context(), 5, "rack-5"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
}

// TestLogIsBounded checks that a script that prints much does not fill the disk, and that the end
// of its output is there.
func TestLogIsBounded(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\nfor i in 1 2 3; do head -c 700000 /dev/zero | tr '\\0' x; done; echo the end")
	f.SetUp(nodeup.Job{Node: 1, Attempt: 1})
	if got := f.result(); got != "1.1 " {
		t.Error(got)
	}
	size := int64(0)
	for _, name := range []string{"node.1", "node.1.old"} {
		info, err := os.Stat(filepath.Join(f.cfg.Logs, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if log := f.logOf(1); size > 1200<<10 || int64(len(log)) != size || !strings.Contains(log, "xthe end\n") {
		t.Errorf("it has %d bytes, of which %d are read", size, len(log))
	}
}

// TestFollow reads a log while it grows, beyond its bound.
func TestFollow(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero | tr '\\0' x; sleep 0.05; done; echo end of $1")
	f.SetUp(nodeup.Job{Node: 1, Attempt: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var text bytes.Buffer
	err := f.ReadLog(ctx, 1, true, func(b []byte) error {
		if text.Write(b); bytes.Contains(text.Bytes(), []byte("end of 1\n")) {
			cancel()
		}
		return nil
	})
	if err != nil || strings.Count(text.String(), "x") != 800_000 {
		t.Errorf("got %v, %d bytes", err, text.Len())
	}
	if f.result() != "1.1 " {
		t.Error("it has failed")
	}
}

// TestEndOfMaster checks that scripts end with the master, without a result. The next master begins
// anew.
func TestEndOfMaster(t *testing.T) {
	f := newFixture(t, "#!/bin/sh\n")
	other := nodeup.New(f.cfg, slog.New(slog.DiscardHandler), func(_ context.Context, r nodeup.Result) { f.results <- r })
	f.write("#!/bin/sh\nexec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	other.SetUp(nodeup.Job{Node: 1, Attempt: 1})
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := other.Run(ctx); err != nil {
		t.Error(err)
	}
	if len(f.results) != 0 {
		t.Errorf("a result: %+v", <-f.results)
	}
}

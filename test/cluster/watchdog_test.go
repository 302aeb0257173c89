package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// hungTest is a test that takes too long, as the harness sees it.
type hungTest struct {
	testing.TB

	mu       sync.Mutex
	failed   bool
	text     strings.Builder
	cleanups []func()
}

func (h *hungTest) Name() string { return h.TB.Name() + "/hung" }
func (h *hungTest) Helper()      {}

func (h *hungTest) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

func (h *hungTest) Log(args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintln(&h.text, args...)
}

func (h *hungTest) Logf(format string, args ...any) { h.Log(fmt.Sprintf(format, args...)) }

func (h *hungTest) Error(args ...any) {
	h.Log(args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = true
}

func (h *hungTest) Errorf(format string, args ...any) { h.Error(fmt.Sprintf(format, args...)) }

func (h *hungTest) Failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// end does what the testing package does at the end of a test.
func (h *hungTest) end() {
	for _, f := range slices.Backward(h.cleanups) {
		f()
	}
}

// TestWatchdog has a test hang in a command whose node is silent, and in a wait for something that
// cannot happen.
func TestWatchdog(t *testing.T) {
	c := Start(t, Config{Nodes: 1})
	cmd := c.Front.Command(context.Background(), Alice, "bpsh", "0", "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the command runs", func() error {
		all, err := c.Nodes[0].Named("sleep")
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("no sleep")
		}
		return err
	})
	h := &hungTest{TB: t}
	watch(h, time.Second).add(c)
	ended := sync.OnceFunc(h.end)
	defer ended()
	hangInTest(t, cmd)
	if !tooLate(h) {
		t.Error("waits go on for what cannot come any more")
	}
	begin := time.Now()
	if err := c.WaitDown(t.Context(), 0); err == nil || time.Since(begin) > stateTimeout/2 {
		t.Errorf("wait for a state of a cluster that is off: got %v after %v", err, time.Since(begin))
	}
	ended() // waits for the watchdog
	if !h.Failed() {
		t.Error("it has not failed")
	}
	text := h.text.String()
	for _, want := range []string{
		fmt.Sprint("not done after ", limit.Scaled(time.Second)),
		"hangInTest(",                  // where the test is
		"hrtimer_nanosleep",            // its processes
		"front/log/bpmaster.log",       // the logs, and in them
		"bpslave on n0, after SIGQUIT", // where the
		"SIGQUIT: quit", "bproc/slave", // daemons are
		"bproc/master",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in its output", want)
		}
	}
	if t.Failed() {
		t.Logf("its output:\n%s", text)
	}
}

// hangInTest waits for a command that never ends, unless its machine does.
func hangInTest(t *testing.T, cmd *Cmd) {
	t.Helper()
	if err := within(limit.Scaled(time.Minute), "the end of the command", cmd.Wait); err == nil || err.Error() != "signal: killed" {
		_ = cmd.Process.Signal(unix.SIGKILL)
		t.Fatalf("got %v, want it killed", err)
	}
}

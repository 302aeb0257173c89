package space_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/test/limit"
	"bproc/wire"
)

// patience is how long a test waits for what must happen.
var patience = limit.Scaled(60 * time.Second)

// node is a daemon with a space.
type node struct {
	*space.Space
	tb    testing.TB
	cfg   space.Config
	stop  func() error // ends Run
	front *frontEnd

	mu       sync.Mutex
	happened chan struct{} // closed and replaced at each status
	statuses map[wire.PID][]unix.WaitStatus
	withNode map[wire.PID]bool         // of the last status
	order    []string                  // callbacks, in order
	results  map[wire.PID]launchResult // of launches of a former daemon
}

func newNode(tb testing.TB) *node { return newNodeWith(tb, "/") }

func newNodeWith(tb testing.TB, root string) *node { return startNode(tb, root, bpinit) }

func newNodeWithInit(tb testing.TB, init string) *node { return startNode(tb, "/", init) }

func startNode(tb testing.TB, root, init string) *node {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Fatal("needs root")
	}
	dir, err := os.MkdirTemp("", "bps")
	if err != nil {
		tb.Fatal(err)
	}
	n := &node{tb: tb, front: newFrontEnd()}
	n.cfg = n.config(dir, root, init)
	n.start()
	tb.Cleanup(func() {
		if err := n.Destroy(context.Background()); err != nil {
			tb.Error(err)
		}
		_ = n.stop()
	})
	return n
}

func (n *node) config(dir, root, init string) space.Config {
	return space.Config{
		Dir: dir, Root: root, Init: init, Name: "test-" + filepath.Base(dir),
		Log:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		OnStatus: n.onStatus, OnLaunched: n.onLaunched, Daemon: n.front,
	}
}

// start creates or attaches to the space and runs it.
func (n *node) start() {
	n.tb.Helper()
	n.statuses = make(map[wire.PID][]unix.WaitStatus)
	n.withNode = make(map[wire.PID]bool)
	n.results = make(map[wire.PID]launchResult)
	n.happened = make(chan struct{})
	s, err := space.Create(context.Background(), n.cfg)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.Space = s
	resume(s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	n.stop = sync.OnceValue(func() error { cancel(); return <-ended })
}

func (n *node) onStatus(m *wire.InitStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.statuses[m.PID] = append(n.statuses[m.PID], unix.WaitStatus(m.Status))
	n.withNode[m.PID] = m.WithNode
	n.order = append(n.order, "status "+m.PID.String())
	close(n.happened)
	n.happened = make(chan struct{})
}

// endedWithNode reports whether a process was killed with all processes of the space.
func (n *node) endedWithNode(pid wire.PID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.withNode[pid]
}

func (n *node) onLaunched(pid wire.PID, stage wire.Stage, errno unix.Errno) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.results[pid] = launchResult{stage, errno}
	close(n.happened)
	n.happened = make(chan struct{})
}

// awaitStatus waits until a process has a status for which ok returns true.
func (n *node) awaitStatus(pid wire.PID, ok func(unix.WaitStatus) bool) unix.WaitStatus {
	n.tb.Helper()
	deadline := time.After(patience)
	for {
		n.mu.Lock()
		for _, s := range n.statuses[pid] {
			if ok(s) {
				n.mu.Unlock()
				return s
			}
		}
		happened := n.happened
		n.mu.Unlock()
		select {
		case <-happened:
		case <-deadline:
			n.tb.Fatalf("process %d: no such status within %v", pid, patience)
		}
	}
}

func over(s unix.WaitStatus) bool { return s.Exited() || s.Signaled() }

type launchResult struct {
	stage wire.Stage
	errno unix.Errno
}

// launch starts a process and waits for the answer.
func (n *node) launch(sp *wire.Spawn, streams ...*os.File) launchResult {
	n.tb.Helper()
	c := make(chan launchResult, 1)
	err := n.Launch(sp, streams, nil, func(stage wire.Stage, errno unix.Errno) {
		n.mu.Lock()
		n.order = append(n.order, "launched "+sp.PID.String())
		n.mu.Unlock()
		c <- launchResult{stage, errno}
	})
	if err != nil {
		n.tb.Fatal(err)
	}
	select {
	case r := <-c:
		return r
	case <-time.After(patience):
		n.tb.Fatalf("launch of %d is not answered", sp.PID)
		return launchResult{}
	}
}

func (n *node) mustLaunch(sp *wire.Spawn, streams ...*os.File) {
	n.tb.Helper()
	if r := n.launch(sp, streams...); r != (launchResult{}) {
		n.tb.Fatalf("launch of %d %q: stage %d, %v", sp.PID, sp.Command.Argv, r.stage, r.errno)
	}
}

// output runs a process with its standard output in a pipe.
func (n *node) output(sp *wire.Spawn) (string, unix.WaitStatus) {
	n.tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		n.tb.Fatal(err)
	}
	defer r.Close()
	sp.Command.Stdio[1] = wire.Descriptor{Mode: wire.DescriptorStream}
	n.mustLaunch(sp, w)
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(patience))
	text, err := io.ReadAll(r)
	if err != nil {
		n.tb.Fatal(err)
	}
	return string(text), n.awaitStatus(sp.PID, over)
}

// quietRuntime keeps Go's runtime from sending signals to its own threads (runtime/preempt.go), which
// are calls, too.
const quietRuntime = "GODEBUG=asyncpreemptoff=1"

// command is a process of root with an ordinary environment.
func command(pid wire.PID, argv ...string) *wire.Spawn {
	return &wire.Spawn{PID: pid, Parent: 4711, Command: wire.Command{
		Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C", quietRuntime}, Dir: "/", Umask: 0o022,
	}}
}

// awaitProcess waits until a process exists.
func (n *node) awaitProcess(pid wire.PID) {
	n.tb.Helper()
	path := fmt.Sprintf("/proc/%d/root/proc/%d", n.InitPID(), pid)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		switch _, err := os.Stat(path); {
		case err == nil:
			return
		case time.Now().After(deadline):
			n.tb.Fatal(err)
		}
	}
}

// leave ends the daemon without a message, and leaves the space.
func (n *node) leave() {
	n.tb.Helper()
	if err := n.stop(); !errors.Is(err, context.Canceled) {
		n.tb.Fatalf("Run: got %v, want %v", err, context.Canceled)
	}
	if err := n.Close(); err != nil {
		n.tb.Fatal(err)
	}
}

// forgetStatuses keeps the tables of a benchmark small.
func (n *node) forgetStatuses() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.statuses)
	n.order = n.order[:0]
}

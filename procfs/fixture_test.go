package procfs

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// cluster is a Source whose content a test sets.
type cluster struct {
	mu      sync.Mutex
	changes Changes
	asked   int           // number of calls of Refresh
	young   Changes       // told only with now
	nows    int           // number of calls with now
	hang    chan struct{} // nodes answer when it is closed; nil: at once
	files   map[string]string
	dirs    map[string][]Entry
	private map[string]bool // files and directories that nodes show to root only
	fetched []string
	listed  []string
	gone    wire.NodeID // there is no such node; 0: all are there
}

func (c *cluster) Refresh(ctx context.Context, now bool, take func(Changes)) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	changes := c.changes
	c.changes = Changes{}
	c.asked++
	if now {
		c.nows++
		changes.Changed = append(changes.Changed, c.young.Changed...)
		c.young = Changes{}
	}
	c.mu.Unlock()
	take(changes)
	return nil
}

// times returns the number of calls of Refresh.
func (c *cluster) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *cluster) wait(ctx context.Context) error {
	c.mu.Lock()
	hang := c.hang
	c.mu.Unlock()
	if hang == nil {
		return nil
	}
	select {
	case <-hang:
		return nil
	case <-ctx.Done():
		return unix.ETIMEDOUT
	}
}

func (c *cluster) get(ctx context.Context, path string) (string, error) {
	if err := c.wait(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched = append(c.fetched, path)
	if uid, _, _ := Asker(ctx); uid != 0 && c.private[path] {
		return "", unix.EACCES
	}
	content, ok := c.files[path]
	if !ok {
		return "", unix.ENOENT
	}
	return content, nil
}

func (c *cluster) Read(ctx context.Context, of *Process, path string) ([]byte, error) {
	s, err := c.get(ctx, fmt.Sprintf("%d/%s", of.PID, path))
	return []byte(s), err
}

func (c *cluster) Link(ctx context.Context, of *Process, path string) (string, error) {
	return c.get(ctx, fmt.Sprintf("%d/%s", of.PID, path))
}

func (c *cluster) List(ctx context.Context, of *Process, path string) ([]Entry, error) {
	path = fmt.Sprintf("%d/%s", of.PID, path)
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = append(c.listed, path)
	if uid, _, _ := Asker(ctx); uid != 0 && c.private[path] {
		return nil, unix.EACCES
	}
	return c.dirs[path], nil
}

func (c *cluster) Nodes(context.Context) ([]Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := []Node{{0, "up"}, {7, "down"}}
	return slices.DeleteFunc(nodes, func(n Node) bool { return n.ID != 0 && n.ID == c.gone }), nil
}

func (c *cluster) ReadNode(ctx context.Context, node wire.NodeID, path string) ([]byte, error) {
	s, err := c.get(ctx, fmt.Sprintf("node%d/%s", node, path))
	return []byte(s), err
}

func (c *cluster) ListNode(_ context.Context, node wire.NodeID, path string) ([]Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dirs[fmt.Sprintf("node%d/%s", node, path)], nil
}

// has gives nodes files.
func (c *cluster) has(files map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.files, files)
}

// lists gives nodes directories.
func (c *cluster) lists(dirs map[string][]Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.dirs, dirs)
}

// hides makes nodes show files and directories to root only.
func (c *cluster) hides(paths ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.private = map[string]bool{}
	for _, path := range paths {
		c.private[path] = true
	}
}

// tell sets the result of the next Refresh.
func (c *cluster) tell(changes Changes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes.Changed = append(c.changes.Changed, changes.Changed...)
	c.changes.Ended = append(c.changes.Ended, changes.Ended...)
}

// remote returns a process in the form in which a node tells it.
func remote(pid wire.PID, state byte, utime int) Process {
	return Process{
		PID: pid, Node: 3, UID: 1234, GID: 100,
		Stat: fmt.Appendf(nil, "%d (worker) %c 1 %d %d 0 -1 4194304 106 0 0 0 %d 3 0 0 20 0 1 0 1000 8388608 220 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			pid, state, pid, pid, utime),
		Status: fmt.Appendf(nil, "Name:\tworker\nState:\t%c\nPid:\t%d\nUid:\t1234\t1234\t1234\t1234\nVmRSS:\t%d kB\nBProcNode:\t3\n", state, pid, utime),
		Statm:  []byte("2048 220 100 5 0 60 0\n"),
		Cgroup: []byte("0::/bproc\n"), Environ: []byte("A=B\x00"),
		Cmdline: fmt.Appendf(nil, "worker\x00--rank\x00%d\x00", pid),
	}
}

// ghosts starts processes whose numbers remote processes can have.
func ghosts(t *testing.T, n int) []wire.PID {
	t.Helper()
	runtime.LockOSThread() // they end with the thread that has started them
	t.Cleanup(runtime.UnlockOSThread)
	var pids []wire.PID
	for range n {
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		pids = append(pids, wire.PID(cmd.Process.Pid))
	}
	for _, pid := range pids { // some kernels let their parent go on before they have executed it
		eventually(t, func() error {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && string(text) != "sleep\x00600\x00" {
				err = fmt.Errorf("ghost %d is %q", pid, text)
			}
			return err
		})
	}
	slices.Sort(pids) // the kernel's numbers begin anew at some point
	return pids
}

// mounted is a mounted view.
type mounted struct {
	*testing.T
	*cluster
	view *View
	path string
}

// mount mounts a view of a cluster, but not over /proc. Its configuration can be changed first.
func mount(t *testing.T, adjust ...func(*Config)) *mounted {
	t.Helper()
	return mountView(t, func(*View) {}, adjust...)
}

// mountView is mount with a view that is changed before it runs.
func mountView(t *testing.T, change func(*View), adjust ...func(*Config)) *mounted {
	t.Helper()
	m := &mounted{T: t, cluster: &cluster{files: map[string]string{}, dirs: map[string][]Entry{}}, path: t.TempDir()}
	ready := make(chan struct{})
	cfg := Config{Mountpoint: m.path, Guard: []string{guardName}, Scout: []string{scoutName}, Ready: func() { close(ready) }}
	for _, f := range adjust {
		f(&cfg)
	}
	m.view = New(cfg, m.cluster, slog.New(slog.DiscardHandler))
	change(m.view)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.view.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("view: %v", err)
			}
		case <-time.After(limit.Scaled(2 * time.Minute)):
			t.Error("the view does not end")
		}
		if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), m.path) {
			t.Errorf("something is still mounted on %s:\n%s", m.path, mounts)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("view: %v", err)
	case <-time.After(limit.Scaled(2 * time.Minute)):
		t.Fatal("the view does not come up")
	}
	return m
}

// show makes processes known.
func (m *mounted) show(processes ...Process) {
	m.Helper()
	m.tell(Changes{Changed: processes})
	m.round()
}

// round makes the view apply the cluster's changes.
func (m *mounted) round() {
	m.Helper()
	m.view.rounds.reset()
	m.view.refresh(m.Context())
}

// file returns the path of a file of the view.
func (m *mounted) file(elements ...any) string {
	path := m.path
	for _, e := range elements {
		path = filepath.Join(path, fmt.Sprint(e))
	}
	return path
}

// read returns the content of a file of the view.
func (m *mounted) read(elements ...any) string {
	m.Helper()
	b, err := os.ReadFile(m.file(elements...))
	if err != nil {
		m.Fatal(err)
	}
	return string(b)
}

// names returns the names in a directory of the view, and their types.
func (m *mounted) names(elements ...any) (names []string, types map[string]fs.FileMode) {
	m.Helper()
	entries, err := os.ReadDir(m.file(elements...))
	if err != nil {
		m.Fatal(err)
	}
	types = map[string]fs.FileMode{}
	for _, e := range entries {
		names = append(names, e.Name())
		types[e.Name()] = e.Type()
	}
	slices.Sort(names)
	return names, types
}

// eventually waits until a condition holds.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	for deadline := time.Now().Add(limit.Scaled(2 * time.Minute)); ; time.Sleep(5 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// reset makes the data too old.
func (r *rounds) reset() {
	r.mu.Lock()
	r.last = time.Time{}
	r.mu.Unlock()
}

package nodes_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"bproc/internal/fakemaster"
	"bproc/procfs"
	"bproc/procfs/nodes"
	"bproc/test/limit"
	"bproc/wire"
)

// fakeNodes is a cluster as its master shows it.
type fakeNodes struct {
	t  *testing.T
	mu sync.Mutex

	procs   map[wire.NodeID]uint32                 // number of processes of each node
	down    bool                                   // all of them
	listed  func()                                 // called when the nodes are listed again
	shown   *wire.Shown                            // with which they begin; nil: they were started with the front end
	silent  bool                                   // they do not send Shown
	pressed int                                    // number of Refreshes with Now
	answer  map[wire.NodeID]func(*fakemaster.Conn) // to a Refresh; nil: the connection ends

	inspected []*wire.Inspect
}

func (f *fakeNodes) handle(c *fakemaster.Conn, m wire.Message) {
	switch m := m.(type) {
	case *wire.ListNodes:
		f.mu.Lock()
		defer f.mu.Unlock()
		list := &wire.NodeList{}
		for id := range wire.NodeID(2) {
			n := wire.Node{ID: id, State: "up", Procs: f.procs[id]}
			if f.down {
				n.State = "down"
			}
			list.Nodes = append(list.Nodes, n)
		}
		c.Send(list)
		if f.listed != nil {
			f.listed()
			f.listed = nil
		}
	case *wire.Look:
		f.mu.Lock()
		if !f.silent {
			c.Send(cmp.Or(f.shown, &wire.Shown{BootID: "boot"}))
		}
		f.mu.Unlock()
		for {
			asked, err := c.Next()
			if err != nil {
				return
			}
			f.mu.Lock()
			if refresh, ok := asked.(*wire.Refresh); ok && refresh.Now {
				f.pressed++
			}
			answer := f.answer[m.Node]
			f.mu.Unlock()
			if answer == nil {
				return
			}
			answer(c)
		}
	case *wire.Inspect:
		f.mu.Lock()
		f.inspected = append(f.inspected, m)
		f.mu.Unlock()
		c.Send(&wire.Piece{Data: []byte("text"), Last: true})
	default:
		f.t.Errorf("got %T", m)
	}
}

// set changes how a node answers, and how many processes it has.
func (f *fakeNodes) set(node wire.NodeID, procs uint32, answer func(*fakemaster.Conn)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.procs[node], f.answer[node] = procs, answer
}

// tells returns an answer with changed processes. The node was started with the front end.
func tells(pids ...wire.PID) func(*fakemaster.Conn) {
	return func(c *fakemaster.Conn) {
		c.Send(changedTexts(pids...))
		c.Send(new(wire.Refreshed))
	}
}

// changedTexts returns a node's report of changed processes.
func changedTexts(pids ...wire.PID) *wire.Changed {
	changed := &wire.Changed{}
	for _, pid := range pids {
		changed.Procs = append(changed.Procs, wire.Texts{
			PID: pid, Start: 300,
			Stat:   stat(pid, "1 40 40 0 -1"),
			Status: fmt.Appendf(nil, "Name:\tcat\nTgid:\t%d\nPid:\t%[1]d\nPPid:\t1\n", pid),
		})
	}
	return changed
}

// stat returns a line of stat with parent, group, session, terminal and foreground group.
func stat(pid wire.PID, kin string) []byte {
	return fmt.Appendf(nil, "%d (cat) S %s 0 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, kin)
}

// frontEnd makes a procfs of a front end with ghosts.
func frontEnd(t *testing.T, ghosts map[wire.PID]string) *os.File {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{"sys/kernel/random/boot_id": []byte("boot\n")}
	for pid, kin := range ghosts {
		files[pid.String()+"/stat"] = stat(pid, kin)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	proc, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Close() })
	return proc
}

// startSource starts a source for simulated nodes.
func startSource(t *testing.T, ghosts map[wire.PID]string) (*fakeNodes, *nodes.Source) {
	t.Helper()
	f := &fakeNodes{t: t, procs: map[wire.NodeID]uint32{}, answer: map[wire.NodeID]func(*fakemaster.Conn){}}
	master := fakemaster.Start(t, f.handle)
	source, err := nodes.New(&master.Client, frontEnd(t, ghosts), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = source.Run(t.Context()) })
	t.Cleanup(running.Wait) // the context of the test has ended by then
	return f, source
}

// until refreshes until a condition holds.
func until(t *testing.T, source *nodes.Source, what string, is func(procfs.Changes) bool) {
	t.Helper()
	deadline := time.Now().Add(limit.Scaled(20 * time.Second))
	for time.Now().Before(deadline) {
		var changes procfs.Changes
		err := source.Refresh(t.Context(), false, func(c procfs.Changes) {
			changes.Changed, changes.Ended = append(changes.Changed, c.Changed...), append(changes.Ended, c.Ended...)
		})
		if err != nil {
			t.Fatal(err)
		}
		if is(changes) {
			return
		}
		time.Sleep(10 * time.Millisecond) // so that nodes can answer
	}
	t.Fatalf("%s: not seen", what)
}

func changed(pid wire.PID, text []byte) func(procfs.Changes) bool {
	return func(c procfs.Changes) bool {
		return slices.ContainsFunc(c.Changed, func(p procfs.Process) bool { return p.PID == pid && string(p.Stat) == string(text) })
	}
}

func ended(pid wire.PID) func(procfs.Changes) bool {
	return func(c procfs.Changes) bool { return slices.Contains(c.Ended, pid) }
}

// TestRefreshGoesOn has one node answer late. Meanwhile the other node's processes are shown, and
// its own when it answers.
func TestRefreshGoesOn(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 34816 40", 51: "71 40 40 34816 40"})
	release := make(chan struct{})
	f.set(0, 1, tells(50))
	f.set(1, 1, func(c *fakemaster.Conn) {
		<-release
		tells(51)(c)
	})
	until(t, source, "the process of the node that answers", changed(50, stat(50, "70 40 40 34816 40")))
	close(release)
	until(t, source, "the process of the node that answers late", changed(51, stat(51, "71 40 40 34816 40")))
}

// TestRefreshNow asks a node again right after the last question.
func TestRefreshNow(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "70 40 40 0 -1", 52: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	for i, pid := range []wire.PID{51, 52} {
		f.set(0, 1, tells(pid))
		var changes procfs.Changes
		err := source.Refresh(t.Context(), true, func(c procfs.Changes) {
			changes.Changed = append(changes.Changed, c.Changed...)
		})
		if err != nil || !changed(pid, stat(pid, "70 40 40 0 -1"))(changes) {
			t.Errorf("process %d: got %v, %v", pid, changes, err)
		}
		f.mu.Lock()
		if f.pressed != i+1 {
			t.Errorf("nodes were pressed %d times, want %d", f.pressed, i+1)
		}
		f.mu.Unlock()
	}
}

// TestRefreshAnew loses the connection to a node. Its processes stay until a look over the next
// connection is complete.
func TestRefreshAnew(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "71 40 40 0 -1"})
	f.set(0, 2, tells(50, 51))
	until(t, source, "a process", changed(51, stat(51, "71 40 40 0 -1")))
	asked := make(chan struct{}, 100)
	f.set(0, 2, func(c *fakemaster.Conn) {
		asked <- struct{}{}
		c.Fail(wire.StageNode, 112, "", 0)
	})
	until(t, source, "that the node fails", func(c procfs.Changes) bool {
		if len(c.Ended) > 0 {
			t.Errorf("%v have ended with the connection", c.Ended)
		}
		return len(asked) > 0
	})
	f.set(0, 1, tells(51))
	until(t, source, "an end", ended(50))
	f.set(0, 0, nil)
	until(t, source, "the end of the last one", ended(51))
}

// TestRefreshBelievesNoNode has a node report a process of another node.
func TestRefreshBelievesNoNode(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	f.set(1, 1, func(c *fakemaster.Conn) {
		c.Send(&wire.Changed{Ended: []wire.PID{50}})
		c.Send(new(wire.Refreshed))
	})
	f.set(0, 1, func(c *fakemaster.Conn) { tells(52)(c) })
	until(t, source, "another process", func(c procfs.Changes) bool {
		if ended(50)(c) {
			t.Error("the process has ended by another node's word")
		}
		return slices.ContainsFunc(c.Changed, func(p procfs.Process) bool { return p.PID == 52 })
	})
}

// TestRefreshBelievesNoThread has a node report another node's process as a thread of its own
// process.
func TestRefreshBelievesNoThread(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1", 51: "70 40 40 0 -1"})
	f.set(0, 1, tells(50))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	claimed := make(chan struct{}, 100)
	f.set(1, 1, func(c *fakemaster.Conn) {
		lie := &wire.Changed{Procs: []wire.Texts{{PID: 51, Start: 300, Stat: stat(51, "1 40 40 0 -1"), Threads: []wire.ThreadTexts{{TID: 51}, {TID: 50}}}}}
		c.Send(lie)
		c.Send(new(wire.Refreshed))
		claimed <- struct{}{}
	})
	until(t, source, "the lie, twice", func(c procfs.Changes) bool {
		for _, p := range c.Changed {
			if p.PID != 50 {
				t.Errorf("got %d with threads %v", p.PID, p.Threads)
			}
		}
		return len(claimed) > 1
	})
}

// TestRefreshOfNewMaster has a master that does not know its nodes' processes yet. Those with a
// ghost stay.
func TestRefreshOfNewMaster(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{50: "70 40 40 0 -1"})
	f.set(0, 2, tells(50, 51))
	until(t, source, "a process", changed(50, stat(50, "70 40 40 0 -1")))
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	f.set(0, 0, nil)
	until(t, source, "the end of a process without a ghost", func(c procfs.Changes) bool {
		if ended(50)(c) {
			t.Error("a process with a ghost has ended")
		}
		return ended(51)(c)
	})
	f.mu.Lock()
	f.down = false
	f.mu.Unlock()
	until(t, source, "the end of the other one", ended(50))
}

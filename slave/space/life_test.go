package space_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
	"bproc/slave/space"
	"bproc/wire"
)

func TestCursor(t *testing.T) {
	n := newNode(t)
	next := wire.PID(1<<20 + 5000)
	if err := n.SetCursor(next); err != nil {
		t.Fatal(err)
	}
	// The space carries the order out on its own, on a busy machine some time later.
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if text, _ := n.output(command(70000, "cat", "/proc/sys/kernel/ns_last_pid")); text == fmt.Sprintln(next-1) {
			break
		}
		if time.Since(begin) > patience {
			t.Fatal("the cursor does not move")
		}
	}
	// Launches leave the cursor alone, whatever their number.
	n.mustLaunch(command(2000000, "true"))
	n.awaitStatus(2000000, over)
	text, _ := n.output(command(70001, "sh", "-c", "for i in 1 2 3; do sh -c 'echo $$'; done; true"))
	var got [3]wire.PID
	if _, err := fmt.Sscan(text, &got[0], &got[1], &got[2]); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	const threads = 20 // of init's own runtime: they may take numbers in between
	if got[0] < next || !slices.IsSorted(got[:]) || got[2] > next+threads {
		t.Errorf("forked processes: got %v, want numbers from %d on", got, next)
	}
}

func TestProcHasTheNumbersOfTheCluster(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d/70001/comm", n.Proc().Fd()))
		if err == nil && string(comm) == "sleep\n" {
			break // execve(2) releases the parent before the process has its new name
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, %v", comm, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", n.InitPID()), &st); err != nil {
		t.Fatal(err)
	}
	if got, want := n.NSInode(), uint32(st.Ino); got != want {
		t.Errorf("inode: got %d, want %d", got, want)
	}
}

// Orphans are waited for, and only the kernel reports that.
func TestOrphansAreWaitedFor(t *testing.T) {
	n := newNode(t)
	text, _ := n.output(command(70001, "sh", "-c", "sh -c 'sleep 0.1; exit 3' >&- & echo $!"))
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	orphan := fmt.Sprintf("/proc/self/fd/%d/%d", n.Proc().Fd(), pid)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(orphan); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Since(begin) > patience {
			t.Fatal("the orphan is still there")
		}
	}
	n.mustLaunch(command(70002, "true"))
	n.awaitStatus(70002, over)
	n.mu.Lock()
	defer n.mu.Unlock()
	if told := n.statuses[wire.PID(pid)]; len(told) > 0 {
		t.Errorf("statuses %v of an orphan", told)
	}
}

// TestNamesake makes a space in another directory with the name of a living one.
func TestNamesake(t *testing.T) {
	n, other := newNode(t), newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	if err := other.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = other.stop()
	other.cfg.Name = n.cfg.Name
	other.start()
	if text, _ := other.output(command(70001, "echo", "works")); text != "works\n" {
		t.Errorf("the second: got %q", text)
	}
	if err := n.Sync(t.Context()); err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := n.Signal(70001, info(unix.SIGTERM, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if s := n.awaitStatus(70001, over); !s.Signaled() || s.Signal() != unix.SIGTERM {
		t.Errorf("its process: status %#x, want SIGTERM", s)
	}
}

func TestAnotherDaemonTakesOver(t *testing.T) {
	n := newNode(t)
	dir := openDir(t)
	n.mustLaunch(command(70001, "sh", "-c", "while ! test -e "+dir+"/go; do sleep 0.01; done; sh -c 'exit 5'"))
	n.mustLaunch(command(70002, "sleep", "1000"))
	before := n.InitPID()
	n.leave()
	// It ends while there is no daemon.
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, before, "70001")

	n.start()
	if n.InitPID() != before {
		t.Fatalf("init is %d, was %d", n.InitPID(), before)
	}
	if got, want := n.PIDs(), []wire.PID{70001, 70002}; !slices.Equal(got, want) {
		t.Errorf("children: got %v, want %v", got, want)
	}
	if s := n.awaitStatus(70001, over); s.ExitStatus() != 5 {
		t.Errorf("status %#x, want exit 5", s)
	}
	sp := command(70004, probe, "ppid")
	sp.Parent = 777
	if text, _ := n.output(sp); text != "777\n" {
		t.Errorf("getppid: got %q", text)
	}
}

// A daemon whose node has another home does not go on with a space: its filter would take others'
// numbers for the space's own.
func TestSpaceOfAnotherHomeIsReplaced(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	before := n.InitPID()
	n.leave()
	n.cfg.Home = wire.Block{First: 1 << 20, Count: 32768}
	n.start()
	if len(n.PIDs()) > 0 || n.InitPID() == before {
		t.Errorf("children %v of init %d, was %d; want a new space", n.PIDs(), n.InitPID(), before)
	}
	n.mustLaunch(command(70002, "sleep", "1000"))
	before = n.InitPID()
	n.leave()
	n.start()
	if got, want := n.PIDs(), []wire.PID{70002}; !slices.Equal(got, want) || n.InitPID() != before {
		t.Errorf("children %v of init %d, want %v of %d", got, n.InitPID(), want, before)
	}
}

// The thread that receives calls runs before all others: a signal that finds a caller earlier ends
// its call with EINTR.
func TestSupervisorGoesFirst(t *testing.T) {
	n := newNode(t)
	for deadline := time.Now().Add(patience); !hasNice(t, -20); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no thread goes first")
		}
	}
	n.leave()
	if hasNice(t, -20) {
		t.Error("a thread still goes first")
	}
}

// hasNice reports whether one of this program's threads has a nice value.
func hasNice(t *testing.T, nice int) bool {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(threads, func(e os.DirEntry) bool {
		tid, _ := strconv.Atoi(e.Name())
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid) // 20 less the nice value, getpriority(2)
		return err == nil && 20-raw == nice
	})
}

// The process that keeps the numbers within their block runs before all others, where the space's
// cgroup may have a share of real time.
func TestFencerGoesFirst(t *testing.T) {
	n := newNode(t)
	if share := realtimeShare(t, n.InitPID()); share == "0" {
		t.Log("there is no share of real time for the space")
		return
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.InitPID()))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range children {
			pids, _ := os.ReadFile(file)
			for _, pid := range strings.Fields(string(pids)) {
				id, _ := strconv.Atoi(pid)
				if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy == unix.SCHED_FIFO {
					return
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no child of init has a real-time policy")
		}
	}
}

// realtimeShare returns the real-time share of a process's cgroup, in microseconds of a second;
// empty: the kernel has no such shares.
func realtimeShare(t *testing.T, pid int) string {
	t.Helper()
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(groups)) {
		if field := strings.SplitN(strings.TrimSpace(line), ":", 3); slices.Contains(strings.Split(field[1], ","), "cpu") {
			share, err := os.ReadFile("/sys/fs/cgroup/" + field[1] + field[2] + "/cpu.rt_runtime_us")
			if errors.Is(err, os.ErrNotExist) {
				return ""
			}
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(share))
		}
	}
	return ""
}

// awaitEnd waits until a process of the space is gone or a zombie.
func awaitEnd(t *testing.T, init int, pid string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/proc/%s/stat", init, pid))
		if errors.Is(err, os.ErrNotExist) || (err == nil && strings.Contains(string(stat), ") Z ")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s: %q, %v: still there", pid, stat, err)
		}
	}
}

// While there is no daemon, init supervises.
func TestGetppidWhileThereIsNoDaemon(t *testing.T) {
	n := newNode(t)
	out := openDir(t) + "/out"
	sp := command(70001, "sh", "-c", "kill -STOP $$; "+probe+" ppid >>"+out+"; exec "+probe+" ppid >>"+out)
	sp.Parent = 888
	n.mustLaunch(sp)
	n.awaitStatus(70001, unix.WaitStatus.Stopped)
	n.leave()
	if err := unix.Kill(n.hostPID(70001), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, n.InitPID(), "70001")
	if got, err := os.ReadFile(out); err != nil || string(got) != "70001\n888\n" {
		t.Errorf("got %q, %v, want the kernel's answer to the child and the front end's to the process itself", got, err)
	}
	n.start()
	n.awaitStatus(70001, over)
}

// hostPID finds a process of the space from outside.
func (n *node) hostPID(pid wire.PID) int {
	n.tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		n.tb.Fatal(err)
	}
	for _, f := range files {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(filepath.Dir(f), "ns/pid"), &st); err != nil || uint32(st.Ino) != n.NSInode() {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for l := range strings.Lines(string(b)) {
			if fields := strings.Fields(l); len(fields) == 3 && fields[0] == "NStgid:" && fields[2] == pid.String() {
				host, err := strconv.Atoi(fields[1])
				if err != nil {
					n.tb.Fatal(err)
				}
				return host
			}
		}
	}
	n.tb.Fatalf("no process %d in space %s", pid, n.cfg.Name)
	return 0
}

func TestDaemonThatDiedWhileTheSpaceWasFrozen(t *testing.T) {
	n := newNode(t)
	n.mustLaunch(command(70001, "sleep", "1000"))
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	n.leave()
	n.start()
	if text, _ := n.output(command(70002, "echo", "thawed")); text != "thawed\n" {
		t.Errorf("got %q", text)
	}
}

func TestDeadSpaceIsReplaced(t *testing.T) {
	n := newNode(t)
	before := n.InitPID()
	if err := unix.Kill(before, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := n.stop(); !errors.Is(err, space.ErrGone) && !errors.Is(err, context.Canceled) {
		t.Errorf("Run: got %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n.start()
	if n.InitPID() == before {
		t.Error("the dead space was attached to")
	}
	if text, _ := n.output(command(70001, "echo", "anew")); text != "anew\n" {
		t.Errorf("got %q", text)
	}
}

func TestRunEndsWithTheSpace(t *testing.T) {
	n := newNode(t)
	answered := make(chan launchResult, 1)
	if err := n.Freeze(); err != nil {
		t.Fatal(err)
	}
	err := n.Launch(command(70001, "true"), nil, nil, func(stage wire.Stage, errno unix.Errno) { answered <- launchResult{stage, errno} })
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := <-answered, (launchResult{wire.StageSpawn, unix.ECONNRESET}); got != want {
		t.Errorf("launch under way: got %v, want %v", got, want)
	}
	if err := n.Launch(command(70002, "true"), nil, nil, func(wire.Stage, unix.Errno) {}); !errors.Is(err, space.ErrGone) {
		t.Errorf("launch afterwards: got %v, want %v", err, space.ErrGone)
	}
}

func TestSpaceWhoseInitIsExecutedLate(t *testing.T) {
	n := newNodeWithInit(t, lateinit)
	n.mustLaunch(command(70001, "true"))
	n.awaitStatus(70001, over)
}

func TestOtherRoot(t *testing.T) {
	root := openDir(t)
	for _, dir := range []string{"bin", "proc", "dev", "sys"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(probe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin/probe"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	n := newNodeWith(t, root)
	sp := command(70001, "probe", "ppid")
	sp.Parent = 99
	if text, _ := n.output(sp); text != "99\n" {
		t.Errorf("got %q", text)
	}
	if got, want := n.launch(command(70002, "sh")), (launchResult{wire.StageExec, unix.ENOENT}); got != want {
		t.Errorf("program outside the root: got %v, want %v", got, want)
	}
}

// traces returns what a space has left outside itself.
func traces(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(mounts)) {
		if strings.Contains(l, name) {
			found = append(found, "mount "+l)
		}
	}
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(path, name) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDestroyLeavesNothing(t *testing.T) {
	n := newNode(t)
	if got := traces(t, n.cfg.Name); len(got) == 0 {
		t.Error("a living space has no cgroup")
	}
	n.mustLaunch(command(70001, "sleep", "1000"))
	host := n.hostPID(70001)
	if err := n.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := traces(t, n.cfg.Name); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if _, err := os.Stat(n.cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory: %v", err)
	}
	for _, pid := range []int{host, n.InitPID()} {
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("process %d: got %v, want %v", pid, err, unix.ESRCH)
		}
	}
}

func TestThousandLaunchesLeaveNothing(t *testing.T) {
	n := newNode(t)
	descriptors := func() int {
		d, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.InitPID()))
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	own := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	launch := func(i int) {
		pid := wire.PID(70000 + i)
		if i%4 == 0 {
			n.launch(command(pid, "no-such-command"))
			return
		}
		n.output(command(pid, "true"))
	}
	launch(1)
	before, ownBefore := descriptors(), own()
	for i := range 1000 {
		launch(i)
	}
	if got := descriptors(); got != before {
		t.Errorf("init has %d descriptors, had %d", got, before)
	}
	if got := own(); got > ownBefore { // fewer: another test left files to the garbage collector
		t.Errorf("the daemon has %d descriptors, had %d", got, ownBefore)
	}
	proc := fmt.Sprintf("/proc/self/fd/%d", n.Proc().Fd())
	names, err := os.ReadDir(proc)
	if err != nil {
		t.Fatal(err)
	}
	standins := 0
	for _, d := range names {
		pid, err := strconv.Atoi(d.Name())
		switch {
		case err != nil || pid == 1:
		case standin.Is(proc, wire.PID(pid)):
			standins++
		default:
			t.Errorf("process %d is left", pid)
		}
	}
	if standins != 1 {
		t.Errorf("%d stand-ins, want the one that keeps numbers within their block", standins)
	}
}

func TestSpacesThatCannotBe(t *testing.T) {
	dir := openDir(t)
	good := space.Config{
		Dir: dir + "/s", Root: "/", Init: bpinit, Name: "test-bad", Log: newNode(t).cfg.Log,
		OnStatus: func(*wire.InitStatus) {}, OnLaunched: func(wire.PID, wire.Stage, unix.Errno) {},
	}
	complains := filepath.Join(dir, "complains")
	if err := os.WriteFile(complains, []byte("#!/bin/sh\necho no such luck >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	panics := filepath.Join(dir, "panics")
	if err := os.WriteFile(panics, []byte("#!/bin/sh\necho warm-up >&2\necho fatal error: init panics >&2\nyes '\tsome/where.go:1 +0x1' | head -100 >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*space.Config){
		"name":          func(c *space.Config) { c.Name = "../x" },
		"relative root": func(c *space.Config) { c.Root = "x" },
		"no callback":   func(c *space.Config) { c.OnStatus = nil },
		"no other one":  func(c *space.Config) { c.OnLaunched = nil },
		"no init":       func(c *space.Config) { c.Init = "/no/such/init" },
		"no root":       func(c *space.Config) { c.Root = "/no/such/root" },
		"not init":      func(c *space.Config) { c.Init = "/bin/true" },
		"panics":        func(c *space.Config) { c.Init = panics },
		"no such luck":  func(c *space.Config) { c.Init = complains },
	} {
		cfg := good
		change(&cfg)
		s, err := space.Create(t.Context(), cfg)
		if err == nil {
			t.Errorf("%s: created", name)
			if err := s.Destroy(t.Context()); err != nil {
				t.Error(err)
			}
		} else if (cfg.Init == complains || cfg.Init == panics) && !strings.Contains(err.Error(), name) {
			t.Errorf("%q lacks what init says", err)
		}
	}
	if got := traces(t, "test-bad"); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if _, err := os.Stat(good.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory: %v", err)
	}
}

func TestProbe(t *testing.T) {
	if err := space.Probe(); err != nil {
		t.Error(err)
	}
}

package space_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/wire"
)

// tasksOf returns the cgroup of a node's tasks; nil: this machine has no pids cgroups.
func tasksOf(t *testing.T, n *node) *space.Tasks {
	t.Helper()
	tasks, err := n.Tasks()
	if err == nil {
		return tasks
	}
	if b, err := os.ReadFile("/proc/cgroups"); err == nil && !strings.Contains(string(b), "\npids\t") {
		t.Logf("this kernel has no pids controller")
		return nil
	}
	t.Fatal(err)
	return nil
}

// threadsOfInit counts the threads of init, whose runtime can make more at any time.
func threadsOfInit(t *testing.T, n *node) int {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", n.InitPID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(threads)
}

// tasksBesidesInit counts the tasks in the space that are not threads of init.
func tasksBesidesInit(t *testing.T, n *node, tasks *space.Tasks) int {
	t.Helper()
	for {
		before := threadsOfInit(t, n)
		all, err := tasks.Count()
		if err != nil {
			t.Fatal(err)
		}
		if threadsOfInit(t, n) == before {
			return all - before
		}
	}
}

// await waits until there are so many tasks besides init.
func await(t *testing.T, n *node, tasks *space.Tasks, want int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got := tasksBesidesInit(t, n, tasks)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are %d tasks besides init, want %d", got, want)
		}
	}
}

func TestTasksAreBounded(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	const own = 1 // the fencer
	await(t, n, tasks, own)
	n.mustLaunch(command(70001, "sleep", "1000"))
	await(t, n, tasks, own+1)
	const script = "for i in 1 2 3 4; do sleep 1000 & done; wait"
	const room = own + 1 + 3
	if err := tasks.Bound(uint64(threadsOfInit(t, n) + room)); err != nil {
		t.Fatal(err)
	}
	// Only three of the five have room, or fewer if init has made a thread. A shell that cannot
	// fork ends with an error.
	sp := command(70002, "sh", "-c", script+" 2>/dev/null")
	n.mustLaunch(sp)
	if s := n.awaitStatus(70002, over); s.ExitStatus() == 0 {
		t.Errorf("status %#x, want that there is a bound", s)
	}
	remain := tasksBesidesInit(t, n, tasks)
	if remain < own+1 || remain > room-1 {
		t.Errorf("there are %d tasks besides init, want %d to %d without the shell", remain, own+1, room-1)
	}
	if err := tasks.Bound(0); err != nil {
		t.Fatal(err)
	}
	n.mustLaunch(command(70003, "sh", "-c", script))
	await(t, n, tasks, remain+5)
}

func TestTasksOfAUser(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	user := space.TaskUnit{UID: 12345}
	for _, u := range []space.TaskUnit{user, {UID: 12345, Group: 99}, {Group: 98}} {
		testUnit(t, n, tasks, u)
	}
	if err := tasks.BoundUnit(space.TaskUnit{UID: 12346}, 5); !os.IsNotExist(err) {
		t.Errorf("a user without a cgroup: got %v, want %v", err, unix.ENOENT)
	}
}

// testUnit makes the cgroup of a unit and bounds it.
func testUnit(t *testing.T, n *node, tasks *space.Tasks, u space.TaskUnit) {
	t.Helper()
	suffix := "/user-" + strconv.Itoa(int(u.UID))
	if u.Group != 0 {
		suffix += "/group-" + strconv.Itoa(int(u.Group))
	}
	for range 2 { // it is made once
		f, err := tasks.Unit(u, 7)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !strings.HasSuffix(f.Name(), suffix+"/cgroup.procs") {
			t.Errorf("the way in is %s", f.Name())
		}
		limit, err := os.ReadFile(strings.Replace(f.Name(), "cgroup.procs", "pids.max", 1))
		if err != nil || string(limit) != "7\n" {
			t.Errorf("bound: got %q, %v", limit, err)
		}
	}
	if err := tasks.BoundUnit(u, 0); err != nil {
		t.Error(err)
	}
	f, err := tasks.Unit(u, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if code := forksTwo(t, n, f, wire.PID(70001+u.Group), suffix+"\n"); code == 0 {
		t.Errorf("%+v: want that there is a bound", u)
	}
	if err := tasks.BoundUnit(u, 1<<40); err != nil {
		t.Errorf("a bound that is more than the kernel takes: %v", err)
	}
}

func TestUnusedUnitIsRemoved(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	u := space.TaskUnit{UID: 12345, Group: 99}
	f, err := tasks.Unit(u, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, want := range []error{nil, unix.ENOENT} {
		if err := tasks.Remove(u); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// forksTwo starts a process in a cgroup, checks that it is there and returns its exit code. With
// room for three, only one of its two children has room at the same time: init has a helper there.
func forksTwo(t *testing.T, n *node, cgroup *os.File, pid wire.PID, want string) int {
	t.Helper()
	out := openDir(t) + "/out"
	sp := command(pid, "sh", "-c", "cat /proc/self/cgroup; sleep 1000 & sleep 0.01")
	sp.Command.Stdio[1] = file(out)
	started := make(chan launchResult, 1)
	if err := n.Launch(sp, nil, cgroup, func(stage wire.Stage, errno unix.Errno) { started <- launchResult{stage, errno} }); err != nil {
		t.Fatal(err)
	}
	if r := <-started; r != (launchResult{}) {
		t.Fatalf("stage %d, %v", r.stage, r.errno)
	}
	s := n.awaitStatus(pid, over)
	text, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("it was in %q, %v", text, err)
	}
	return s.ExitStatus()
}

// TestThreadsAreCounted has a process with many threads, and a zombie.
func TestThreadsAreCounted(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	u := space.TaskUnit{UID: 12345, Group: 99}
	f, err := tasks.Unit(u, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const script = `import os, threading, time
if os.fork() == 0: os._exit(0)
for i in range(5): threading.Thread(target=time.sleep, args=(1000,)).start()
`
	started := make(chan launchResult, 1)
	if err := n.Launch(command(70001, "python3", "-c", script), nil, f, func(stage wire.Stage, errno unix.Errno) { started <- launchResult{stage, errno} }); err != nil {
		t.Fatal(err)
	}
	if r := <-started; r != (launchResult{}) {
		t.Fatalf("stage %d, %v", r.stage, r.errno)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got, err := tasks.Besides(u, 4)
		if err != nil {
			t.Fatal(err)
		}
		if got == 6 { // including init's helper
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d tasks besides processes, want 6", got)
		}
	}
	if got, err := tasks.Besides(u, 100); got != 0 || err != nil {
		t.Errorf("where they do not matter: got %d, %v", got, err)
	}
}

// TestBoundIsNotTheContainers does what "systemctl daemon-reload" does: another program writes the
// limit of the container's cgroup, and the bound of the tasks stays.
func TestBoundIsNotTheContainers(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	f, err := tasks.Unit(space.TaskUnit{UID: 12345}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inner := filepath.Dir(filepath.Dir(f.Name()))
	if filepath.Base(inner) != "space" {
		t.Fatalf("tasks are counted in %s", inner)
	}
	const want = "1000\n"
	if err := tasks.Bound(1000); err != nil {
		t.Fatal(err)
	}
	outer := filepath.Join(filepath.Dir(inner), "pids.max")
	for _, limit := range []string{"2352", "max"} {
		if err := os.WriteFile(outer, []byte(limit), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(inner, "pids.max")); err != nil || string(got) != want {
		t.Errorf("the bound is %q, %v, want %q", got, err, want)
	}
	if procs, err := os.ReadFile(filepath.Join(filepath.Dir(inner), "cgroup.procs")); err != nil || len(procs) > 0 {
		t.Errorf("in the container's own cgroup are %q, %v", procs, err)
	}
	// Another daemon finds the same.
	n.leave()
	n.start()
	again, err := n.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Bound(1001); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(inner, "pids.max")); err != nil || string(got) != "1001\n" {
		t.Errorf("the bound of another daemon is %q, %v", got, err)
	}
}

package space_test

import (
	"fmt"
	"os"
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

// threadsOfInit counts them: the runtime of init makes more at any time.
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
	const own = 1 // what looks after the cursor
	await(t, n, tasks, own)
	n.mustLaunch(command(70001, "sleep", "1000"))
	await(t, n, tasks, own+1)
	const script = "for i in 1 2 3 4; do sleep 1000 & done; wait"
	const room = own + 1 + 3
	if err := tasks.Bound(uint64(threadsOfInit(t, n) + room)); err != nil {
		t.Fatal(err)
	}
	// Of the five only three have room, or fewer if init has made a thread; a shell that
	// cannot fork ends with an error.
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
	const uid = 12345
	for range 2 { // it is made once
		f, err := tasks.User(uid, 7)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !strings.HasSuffix(f.Name(), "/user-"+strconv.Itoa(uid)+"/cgroup.procs") {
			t.Errorf("the way in is %s", f.Name())
		}
		limit, err := os.ReadFile(strings.Replace(f.Name(), "cgroup.procs", "pids.max", 1))
		if err != nil || string(limit) != "7\n" {
			t.Errorf("bound: got %q, %v", limit, err)
		}
	}
	if err := tasks.BoundUser(uid, 0); err != nil {
		t.Error(err)
	}
	f, err := tasks.User(uid, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := openDir(t) + "/out"
	sp := command(70001, "sh", "-c", "cat /proc/self/cgroup; sleep 1000 & sleep 1000")
	sp.Command.Stdio[1] = file(out)
	started := make(chan launchResult, 1)
	if err := n.Launch(sp, nil, f, func(stage wire.Stage, errno unix.Errno) { started <- launchResult{stage, errno} }); err != nil {
		t.Fatal(err)
	}
	if r := <-started; r != (launchResult{}) {
		t.Fatalf("stage %d, %v", r.stage, r.errno)
	}
	// Of its two children at the same time only one has room: init has a helper there.
	if s := n.awaitStatus(70001, over); s.ExitStatus() == 0 {
		t.Errorf("status %#x, want that there is a bound", s)
	}
	text, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(text), "/user-"+strconv.Itoa(uid)+"\n") {
		t.Errorf("it was in %q, %v", text, err)
	}
	if err := tasks.BoundUser(uid+1, 5); !os.IsNotExist(err) {
		t.Errorf("a user without a cgroup: got %v, want %v", err, unix.ENOENT)
	}
}

package space_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/wire"
)

// TestHeldUpLaunchesWithoutRoom has a user's launches wait for a named pipe that nobody opens,
// until there is no room for another task. Init still has what it needs.
func TestHeldUpLaunchesWithoutRoom(t *testing.T) {
	n := newNode(t)
	tasks := tasksOf(t, n)
	if tasks == nil {
		return
	}
	cgroup, err := tasks.Unit(space.TaskUnit{UID: 12345}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cgroup.Close()
	fifo := filepath.Join(openDir(t), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chown(fifo, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	const count = 40
	answers := make(chan launchResult, 2*count)
	begin := func(first wire.PID) {
		for pid := first; pid < first+count; pid++ {
			sp := command(pid, "true")
			sp.UID, sp.GID = 12345, 12345
			sp.Command.Stdio[0] = file(fifo)
			if err := n.Launch(sp, nil, cgroup, func(stage wire.Stage, errno unix.Errno) { answers <- launchResult{stage, errno} }); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin(70000)
	for deadline := time.Now().Add(patience); tasksBesidesInit(t, n, tasks) < 2*count; time.Sleep(time.Millisecond) { // each has a helper
		if time.Now().After(deadline) {
			t.Fatal("the launches are not under way")
		}
	}
	all, err := tasks.Count()
	if err != nil {
		t.Fatal(err)
	}
	if err := tasks.Bound(uint64(all)); err != nil {
		t.Fatal(err)
	}
	begin(71000)
	for range count {
		select {
		case r := <-answers:
			if r != (launchResult{wire.StageSpawn, unix.EAGAIN}) {
				t.Errorf("stage %d, %v, want that there is no room", r.stage, r.errno)
			}
		case <-time.After(patience):
			t.Fatal("a launch without room is not answered")
		}
	}
	if err := tasks.Bound(0); err != nil {
		t.Fatal(err)
	}
	n.mustLaunch(command(72000, "true"))
}

package ghost

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// tasksGroup makes a control group that bounds tasks, in the hierarchy of the pids controller, and
// puts a process into it. It returns a function that sets the bound.
func tasksGroup(t *testing.T, pid wire.PID) (bound func(tasks int)) {
	t.Helper()
	top := "/sys/fs/cgroup"
	if unix.Access(filepath.Join(top, "pids"), unix.X_OK) == nil {
		top = filepath.Join(top, "pids")
	}
	dir := filepath.Join(top, "bproc-ghost-"+strconv.Itoa(int(pid)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eventually(t, "the group is empty", func() bool { return os.Remove(dir) == nil }) })
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.procs", strconv.Itoa(int(pid)))
	return func(tasks int) { t.Helper(); write("pids.max", strconv.Itoa(tasks)) }
}

// TestNoRoom has ghosts find no room for children: until another ghost ends, or until the control
// group's bound is raised, or for good. Requests about them take effect in order.
func TestNoRoom(t *testing.T) {
	f := newFixture(t)
	maker, other := f.ghost(t, nobody, "maker"), f.ghost(t, nobody, "other")
	bound := tasksGroup(t, maker)
	bound(2)
	const first, second, third, fourth wire.PID = 2600000, 2600001, 2600002, 2600003
	f.must(t, &wire.GhostFork{Parent: maker, Child: first})
	f.tell(t, &wire.GhostFork{Parent: maker, Child: second})
	f.tell(t, &wire.GhostExec{PID: second, Argv: []string{"second"}})
	f.must(t, &wire.GhostSync{PID: other})
	f.tell(t, &wire.GhostExit{PID: first}) // its process ended while the other was born
	f.gone(t, first)
	f.must(t, &wire.GhostSync{PID: second})
	if argv, err := commandLine(second); err != nil || strings.Join(argv, " ") != "second" {
		t.Errorf("%d is %q, %v", second, argv, err)
	}

	// Others do not wait for long: waiting requests are answered early, and carried out when there
	// is room.
	f.tell(t, &wire.GhostExec{PID: maker, Argv: []string{"shell"}})
	f.must(t, &wire.GhostFork{Parent: maker, Child: third})
	f.must(t, &wire.GhostExec{PID: third, Argv: []string{"third"}})
	bound(3)
	eventually(t, "the third is there", func() bool {
		argv, err := commandLine(third)
		return err == nil && strings.Join(argv, " ") == "third"
	})

	// Without room, it is as if the ghost had been killed.
	f.must(t, &wire.GhostFork{Parent: maker, Child: fourth})
	if m := f.gone(t, fourth); m.Asked || m.Status != wire.SignalStatus(int(unix.SIGKILL)) {
		t.Errorf("the fourth: got %+v", m)
	}
	for _, pid := range []wire.PID{second, third} {
		f.must(t, &wire.GhostExit{PID: pid})
		f.gone(t, pid)
	}
	f.must(t, &wire.GhostFork{Parent: maker, Child: fourth})
	f.must(t, &wire.GhostExit{PID: fourth})
	f.gone(t, fourth)
	f.end(t, maker, 0)
	f.end(t, other, 0)
	f.quiet(t)
}

package slave

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/wire"
)

// madeUpGroup is a made-up cgroup.
type madeUpGroup struct {
	did     []string
	err     error
	none    map[space.TaskUnit]bool // that have no cgroup
	besides uint64
}

func (g *madeUpGroup) say(format string, args ...any) error {
	g.did = append(g.did, fmt.Sprintf(format, args...))
	return g.err
}

func (g *madeUpGroup) Bound(tasks uint64) error { return g.say("bound %d", tasks) }
func (g *madeUpGroup) Count() (int, error)      { return 17, g.err }
func (g *madeUpGroup) BoundUnit(u space.TaskUnit, tasks uint64) error {
	if g.none[u] {
		return unix.ENOENT
	}
	return g.say("bound %s %d", unitName(u), tasks)
}

func (g *madeUpGroup) Remove(u space.TaskUnit) error { return g.say("remove %s", unitName(u)) }

func (g *madeUpGroup) Besides(u space.TaskUnit, more uint64) (uint64, error) {
	return g.besides, g.say("besides in %s, more than %d", unitName(u), more)
}

func (g *madeUpGroup) Unit(u space.TaskUnit, tasks uint64) (*os.File, error) {
	if err := g.say("%s %d", unitName(u), tasks); err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate(unitName(u), unix.MFD_CLOEXEC)
	return os.NewFile(uintptr(fd), unitName(u)), err
}

// same reports whether two descriptors are of the same cgroup.
func same(t *testing.T, a, b *os.File) bool {
	t.Helper()
	var abouts [2]os.FileInfo
	for i, f := range []*os.File{a, b} {
		var err error
		if abouts[i], err = f.Stat(); err != nil {
			t.Fatal(err)
		}
	}
	return os.SameFile(abouts[0], abouts[1])
}

func unitName(u space.TaskUnit) string {
	if u.Group != 0 {
		return fmt.Sprintf("group %d of %d", u.Group, u.UID)
	}
	return fmt.Sprintf("user %d", u.UID)
}

func TestTasks(t *testing.T) {
	g := &madeUpGroup{none: map[space.TaskUnit]bool{{UID: 1000}: true}}
	tasks := newTasks(slog.New(slog.DiscardHandler), g)
	defer tasks.close()
	check := func(when string, want ...string) {
		t.Helper()
		if got := strings.Join(g.did, "; "); got != strings.Join(want, "; ") {
			t.Errorf("%s: did %q, want %q", when, got, want)
		}
		g.did = nil
	}
	launch := func(uid uint32) *os.File {
		t.Helper()
		f, err := tasks.launch(&wire.Spawn{UID: uid})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() }) // there may be none
		return f
	}
	tasks.have(8000)
	check("numbers", "bound 7064")
	if launch(0) != nil {
		t.Error("root is in a cgroup of its own")
	}
	for range 62 {
		launch(0)
	}
	check("as many with numbers of their own as were counted on")
	launch(0)
	check("one more", "bound 7128")
	for range 128 {
		launch(0)
	}
	check("more", "bound 7192", "bound 7256")
	for range 129 {
		tasks.ended()
	}
	check("fewer", "bound 7128")

	tasks.budget(&wire.Budget{UID: 1000, Tasks: 50})
	check("budget of somebody who is not there")
	tasks.have(8000)
	first := launch(1000)
	check("the first of a user", "user 1000 58")
	if !same(t, launch(1000), first) {
		t.Error("a user has two cgroups")
	}
	check("the second of a user")
	launch(1001)
	check("of a user without a budget", "user 1001 0")
	clear(g.none)
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 60})
	tasks.budget(&wire.Budget{UID: 1000})
	check("other budgets", "bound user 1000 68", "bound user 1000 0")
	if got := tasks.count(); got != 17 {
		t.Errorf("count: got %d", got)
	}
	g.err = errors.New("broken")
	if _, err := tasks.launch(&wire.Spawn{UID: 1002}); !errors.Is(err, g.err) {
		t.Errorf("a user without a cgroup: got %v, want %v", err, g.err)
	}
	if got := tasks.count(); got != 0 {
		t.Errorf("count: got %d, want that it is not known", got)
	}
}

// TestTasksOfGroups bounds processes started from control groups of the front end.
func TestTasksOfGroups(t *testing.T) {
	g := new(madeUpGroup)
	tasks := newTasks(slog.New(slog.DiscardHandler), g)
	defer tasks.close()
	check := func(when string, want ...string) {
		t.Helper()
		if got := strings.Join(g.did, "; "); got != strings.Join(want, "; ") {
			t.Errorf("%s: did %q, want %q", when, got, want)
		}
		g.did = nil
	}
	launch := func(uid uint32, group, most uint64) *os.File {
		t.Helper()
		f, err := tasks.launch(&wire.Spawn{UID: uid, TaskGroup: group, Tasks: most})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	tasks.have(8000)
	first := launch(1000, 7, 20)
	check("the first of a user", "bound 7064", "user 1000 0", "group 7 of 1000 21")
	if !same(t, launch(1000, 7, 10), first) || same(t, launch(1000, 0, 0), first) {
		t.Error("a group has not one cgroup of its own")
	}
	check("a bound that is older than the budget")
	tasks.budget(&wire.Budget{UID: 0, Tasks: 30, Group: 7})
	launch(0, 7, 20)
	check("root has no bound, but a group has", "bound group 7 of 0 31", "user 0 0", "group 7 of 0 31")
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 16, Group: 7})
	tasks.budget(&wire.Budget{UID: 0, Group: 7})
	check("budgets", "bound group 7 of 1000 17", "remove group 7 of 0")

	g.besides = 5
	tasks.countBesides()
	check("threads", "besides in group 7 of 1000, more than 8", "bound group 7 of 1000 21")
	tasks.countBesides()
	check("as many threads", "besides in group 7 of 1000, more than 8")
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 17, Group: 7})
	check("a budget", "bound group 7 of 1000 22")
	g.besides = 0
	tasks.countBesides()
	check("no threads", "besides in group 7 of 1000, more than 8", "bound group 7 of 1000 18")
	tasks.budget(&wire.Budget{UID: 1000, Group: 7})
	check("nobody uses it", "remove group 7 of 1000")
	launch(1000, 7, 12)
	check("it is used again", "group 7 of 1000 13")
}

// TestTasksRemoved removes the cgroup of a group, and makes it anew, while a process is about to be
// started in it.
func TestTasksRemoved(t *testing.T) {
	tasks := newTasks(slog.New(slog.DiscardHandler), new(madeUpGroup))
	defer tasks.close()
	spawn := &wire.Spawn{UID: 1000, TaskGroup: 7, Tasks: 20}
	entry, err := tasks.launch(spawn)
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	tasks.budget(&wire.Budget{UID: 1000, Group: 7})
	next, err := tasks.launch(spawn)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if same(t, entry, next) {
		t.Error("the cgroup of a group that was removed is used again")
	}
}

func TestTasksWithoutCgroup(t *testing.T) {
	tasks := newTasks(slog.New(slog.DiscardHandler), nil)
	tasks.have(8000)
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 50})
	if f, err := tasks.launch(&wire.Spawn{UID: 1000}); f != nil || err != nil {
		t.Errorf("got %v, %v", f, err)
	}
	tasks.ended()
	if got := tasks.count(); got != 0 {
		t.Errorf("count: got %d", got)
	}
}

// TestTasksOfFewNumbers: whatever a node has, the bound leaves room in its block and the gap for
// the moments before the cursor is put back.
func TestTasksOfFewNumbers(t *testing.T) {
	for numbers, want := range map[int]int{384: 288, 768: 576, 3072: 2304, 6144: 5376, 49152: 43008} {
		for launched := range 200 {
			group := new(madeUpGroup)
			tasks := newTasks(slog.New(slog.DiscardHandler), group)
			tasks.have(numbers)
			for range launched {
				if _, err := tasks.launch(&wire.Spawn{}); err != nil {
					t.Fatal(err)
				}
			}
			// Launched processes have numbers of their own.
			if most := int(tasks.bound) - launched; most > numbers {
				t.Fatalf("%d tasks can have %d numbers, when %d are launched", most, numbers, launched)
			}
			if least := int(tasks.bound) - launched; least < want {
				t.Fatalf("only %d tasks can have %d numbers, when %d are launched", least, numbers, launched)
			}
			for left := launched - 1; left >= 0; left-- {
				tasks.ended()
				if room := int(tasks.bound) - left; room < want || room > numbers {
					t.Fatalf("%d tasks can have %d numbers, when %d of %d are left", room, numbers, left, launched)
				}
			}
		}
	}
}

// TestBoundIsSteady: commands one after the other, and a number of them that goes up and down by one,
// do not have the bound written each time.
func TestBoundIsSteady(t *testing.T) {
	for _, before := range []int{0, maxOwnStep - 1, maxOwnStep, 3*maxOwnStep - 1} {
		group := new(madeUpGroup)
		tasks := newTasks(slog.New(slog.DiscardHandler), group)
		tasks.have(8192)
		launch := func() {
			if _, err := tasks.launch(&wire.Spawn{}); err != nil {
				t.Fatal(err)
			}
		}
		for range before {
			launch()
		}
		group.did = nil
		for range 100 {
			launch()
			tasks.ended()
		}
		if len(group.did) > 1 {
			t.Errorf("%d launched: the bound was written %d times", before, len(group.did))
		}
	}
}

package slave

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"bproc/wire"
)

// madeUpGroup is a made-up cgroup.
type madeUpGroup struct {
	did []string
	err error
}

func (g *madeUpGroup) say(format string, args ...any) error {
	g.did = append(g.did, fmt.Sprintf(format, args...))
	return g.err
}

func (g *madeUpGroup) Bound(tasks uint64) error { return g.say("bound %d", tasks) }
func (g *madeUpGroup) Count() (int, error)      { return 17, g.err }
func (g *madeUpGroup) BoundUser(uid uint32, tasks uint64) error {
	return g.say("bound user %d %d", uid, tasks)
}

func (g *madeUpGroup) User(uid uint32, tasks uint64) (*os.File, error) {
	if err := g.say("user %d %d", uid, tasks); err != nil {
		return nil, err
	}
	return os.Open(os.DevNull)
}

func TestTasks(t *testing.T) {
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
	launch := func(uid uint32) *os.File {
		t.Helper()
		f, err := tasks.launch(uid)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	tasks.lease(8000)
	check("numbers", "bound 7064")
	if launch(0) != nil {
		t.Error("root is in a cgroup of its own")
	}
	check("one more with a number of its own", "bound 7128")
	for range 63 {
		launch(0)
	}
	check("as many as were counted on")
	launch(0)
	check("more", "bound 7192")
	tasks.ended()
	check("fewer", "bound 7128")

	tasks.budget(&wire.Budget{UID: 1000, Tasks: 50})
	check("budget of somebody who is not there")
	tasks.lease(8000)
	first := launch(1000)
	check("the first of a user", "bound 7192", "user 1000 58")
	if launch(1000) != first {
		t.Error("a user has two cgroups")
	}
	check("the second of a user")
	launch(1001)
	check("of a user without a budget", "user 1001 0")
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 60})
	tasks.budget(&wire.Budget{UID: 1000})
	check("other budgets", "bound user 1000 68", "bound user 1000 0")
	if got := tasks.count(); got != 17 {
		t.Errorf("count: got %d", got)
	}
	g.err = errors.New("broken")
	if _, err := tasks.launch(1002); !errors.Is(err, g.err) {
		t.Errorf("a user without a cgroup: got %v, want %v", err, g.err)
	}
	if got := tasks.count(); got != 0 {
		t.Errorf("count: got %d, want that it is not known", got)
	}
}

func TestTasksWithoutCgroup(t *testing.T) {
	tasks := newTasks(slog.New(slog.DiscardHandler), nil)
	tasks.lease(8000)
	tasks.budget(&wire.Budget{UID: 1000, Tasks: 50})
	if f, err := tasks.launch(1000); f != nil || err != nil {
		t.Errorf("got %v, %v", f, err)
	}
	tasks.ended()
	if got := tasks.count(); got != 0 {
		t.Errorf("count: got %d", got)
	}
}

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// label changes the labels of node 1.
func (s *script) label(uid uint32, set, remove string) unix.Errno {
	return s.set(Caller{UID: uid}, wire.SetNodes{Nodes: []wire.NodeID{1}, Set: strings.Fields(set), Remove: strings.Fields(remove)})
}

func TestLabels(t *testing.T) {
	configured := []Named{{ID: 1, Name: "one"}}
	s := scriptWith(t, Config{Named: configured})
	want := func(labels string) {
		t.Helper()
		if got := strings.Join(s.core.NodeList()[0].Labels, " "); got != labels {
			t.Errorf("got %q, want %q", got, labels)
		}
		if kept := load(t, s.kept[Nodes], configured...); kept.byID[1].Labels != labels {
			t.Errorf("%q is kept, want %q", kept.byID[1].Labels, labels)
		}
	}
	for _, step := range []struct {
		set, remove string
		want        string
	}{
		{"rack=4 gpu", "", "gpu rack=4"},
		{"rack=5 Old.1", "", "Old.1 gpu rack=5"},
		{"gpu=2", "", "Old.1 gpu=2 rack=5"},
		{"gpu", "rack nosuch", "Old.1 gpu"},
		{"gpu", "", "Old.1 gpu"},
		{"new", "new gpu", "Old.1"},
		{"", "Old.1", ""},
	} {
		if errno := s.label(0, step.set, step.remove); errno != 0 {
			t.Errorf("%v: got %v", step, errno)
		}
		want(step.want)
	}

	var most []string
	for i := range wire.MaxLabels {
		most = append(most, fmt.Sprint("tag", i))
	}
	slices.Sort(most)
	if errno := s.label(0, strings.Join(most, " "), ""); errno != 0 {
		t.Error(errno)
	}
	for _, wrong := range []struct {
		uid         uint32
		set, remove string
		want        unix.Errno
	}{
		{0, "onemore", "", unix.ENOSPC},
		{1000, "tag0", "", unix.EPERM},
		{0, "a=", "", unix.EINVAL},
		{0, "-a", "", unix.EINVAL},
		{0, "a,b", "", unix.EINVAL},
		{0, "a=b=c", "", unix.EINVAL},
		{0, strings.Repeat("a", 64), "", unix.EINVAL},
		{0, "a=" + strings.Repeat("b", 65), "", unix.EINVAL},
		{0, "mem=4", "", unix.EINVAL},
		{0, "arch", "", unix.EINVAL},
		{0, "", "a=b", unix.EINVAL},
	} {
		if got := s.label(wrong.uid, wrong.set, wrong.remove); got != wrong.want {
			t.Errorf("%v: got %v", wrong, got)
		}
		want(strings.Join(most, " "))
	}
	if got := s.set(Caller{}, wire.SetNodes{Nodes: []wire.NodeID{7}, Set: []string{"gpu"}}); got != unix.ENXIO {
		t.Errorf("of a node that there is not: got %v", got)
	}
	if errno := s.label(0, "onemore", "tag0"); errno != 0 {
		t.Error(errno)
	}
}

// TestLabelsNotKept checks that labels do not change if the change cannot be kept.
func TestLabelsNotKept(t *testing.T) {
	s := scriptWith(t, Config{Named: []Named{{ID: 1, Name: "one"}}})
	s.kept[Nodes].err = unix.EIO
	if got := s.label(0, "gpu", ""); got != unix.EIO {
		t.Errorf("got %v", got)
	}
	if got := s.core.NodeList()[0].Labels; len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

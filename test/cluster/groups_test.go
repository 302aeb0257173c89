package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestConformGroups has a process of a node signal a group that spans nodes and the front end, and
// all processes that it may signal.
func TestConformGroups(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string { return spanning(t, c, user, at) })
		})
	}
}

func spanning(t *testing.T, c *cluster.Cluster, user cluster.User, at place) []string {
	program := conform(t, "target")
	script, members := "", []string{"0", "1", "2", "2", ""}
	for _, node := range members {
		words := at.at(node, program)
		script += "'" + strings.Join(words, "' '") + "' & "
	}
	// One shell, so that its group has them all: it has no job control.
	group := startTargets(t, c, cluster.Alice, len(members), "sh", "-c", script+"wait; wait")
	leader, err := c.Front.Proc(group[0].pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := startTargets(t, c, cluster.Alice, 1, at.at("1", program)...)
	another := startTargets(t, c, cluster.Bob, 1, at.at("1", program)...)
	argv := []string{conform(t, "outside"), fmt.Sprintf("group=-%d", leader.PGID), "everybody=all", "no group=-1999999"}
	lines := converse(t, c, user, place{at.name, at.at("1")}, argv...).rest()
	for _, one := range append(group, stranger[0], another[0]) {
		if err := c.Front.Kill(one.pid, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []*target{group[0], stranger[0], another[0]} {
		lines = append(lines, "== got")
		var got []string
		for line := of.line(); line != ""; line = of.line() {
			got = append(got, line)
		}
		slices.Sort(got)
		lines = append(lines, got...)
	}
	return lines
}

package cluster_test

import (
	"fmt"
	"testing"

	"bproc/test/cluster"
)

// foreigners are targets in all possible places, for a sender on node 1.
var foreigners = []struct {
	name string
	user cluster.User
	node string // "" is the front end
}{
	{"same node", cluster.Alice, "1"},
	{"another's on the same node", cluster.Bob, "1"},
	{"another node", cluster.Alice, "2"},
	{"another's on another node", cluster.Bob, "2"},
	{"root's on another node", cluster.Root, "2"},
	{"front end", cluster.Alice, ""},
	{"another's on the front end", cluster.Bob, ""},
	{"root's on the front end", cluster.Root, ""},
}

// TestConformOutside has a process of a node signal processes elsewhere.
func TestConformOutside(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string { return outside(t, c, user, at) })
		})
	}
}

func outside(t *testing.T, c *cluster.Cluster, user cluster.User, at place) []string {
	program := conform(t, "target")
	var all []*target
	argv := []string{conform(t, "outside")}
	for _, f := range foreigners {
		one := startTargets(t, c, f.user, 1, at.at(f.node, program)...)
		all = append(all, one...)
		argv = append(argv, fmt.Sprintf("%s=%d", f.name, one[0].pid))
	}
	// A child on another node, with a number of that node.
	child := startTargets(t, c, cluster.Alice, 1, at.at("2", "sh", "-c", program+"; exit $?")...)
	argv = append(argv, fmt.Sprintf("a child on another node=%d", child[0].pid))
	argv = append(argv, "nobody=1999999", "nobody on a node=4194000", "init=1")
	lines := converse(t, c, user, place{at.name, at.at("1")}, argv...).rest()
	for i, one := range append(all, child...) {
		lines = append(lines, fmt.Sprintf("== got by %d", i))
		lines = append(lines, one.log()...)
	}
	return lines
}

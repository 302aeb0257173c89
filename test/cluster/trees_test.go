package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// seedVariable names the environment variable with the first of the seeds.
const seedVariable = "BPROC_SEED"

const (
	treeSeeds = 1000
	treeSteps = 30
)

// TestRandomTrees grows random trees of processes natively and on a node. The program has a model
// of the correct state, and checks it after each step. At the end of each tree the front end's
// processes are compared with the model. Half of the trees are root's, who can change users.
func TestRandomTrees(t *testing.T) {
	program := cluster.Program(t, "testdata/conform/trees.c", "-static")
	dir := filepath.Dir(program)
	for _, name := range []string{"tree-a", "tree-b", "tree-c"} { // names to exec it under
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	first := 1
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if first, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	for _, at := range []place{native, onNode} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			cluster.Watch(t, 30*time.Minute) // a thousand trees
			c := cluster.Shared(t, 4)
			if at.name == onNode.name {
				wantIdle(t, c)
			}
			for i, user := range users {
				begin := first + i*treeSeeds/len(users)
				end := begin + treeSeeds/len(users) - 1
				argv := []string{program, dir, fmt.Sprint(begin), fmt.Sprint(end), fmt.Sprint(treeSteps), "1"}
				lines := converse(t, c, user, at, argv...).rest()
				want := []string{fmt.Sprintf("seeds %d to %d", begin, end), "exit code 0"}
				if !slices.Equal(lines, want) {
					t.Errorf("%s, as %s:\n%s", strings.Join(argv, " "), user.Name, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

package cluster_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// copyDir is a directory of each machine's own in which every user may make files.
const copyDir = "/dev/shm"

// copyScript returns the path of a program in testdata for tests of copies.
func copyScript(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// machines returns some machines of a cluster: -1 is the front end.
func machines(c *cluster.Cluster, ids ...int) (list []*cluster.Machine) {
	for _, id := range ids {
		if id < 0 {
			list = append(list, c.Front)
		} else {
			list = append(list, c.Nodes[id])
		}
	}
	return list
}

// emptyCopies removes all copies on all machines.
func emptyCopies(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		ask(t, m, cluster.Root, "find", copyDir, "-mindepth", "1", "-delete")
	}
}

// manifest lists a directory of a machine.
func manifest(t *testing.T, m *cluster.Machine, dir string, options ...string) string {
	t.Helper()
	return ask(t, m, cluster.Root, append([]string{"python3", copyScript(t, "manifest.py"), dir}, options...)...)
}

// wantCopies checks that all directories have the same content.
func wantCopies(t *testing.T, of *cluster.Machine, original string, copies []*cluster.Machine, dir string, options ...string) {
	t.Helper()
	want := strings.Split(manifest(t, of, original, options...), "\n")
	for _, m := range copies {
		got := strings.Split(manifest(t, m, dir, options...), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: %d lines, want %d; from line %d\ngot  %q\nwant %q", m.Name, len(got), len(want), i, got[min(i, len(got)):], want[min(i, len(want)):])
				break
			}
		}
	}
}

// TestCopy copies a tree of all kinds of files between all kinds of machines.
func TestCopy(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		for _, tc := range []struct {
			name, from, to string
			source         int
			targets        []int
		}{
			{"to a node", "", "2:", -1, []int{2}},
			{"to all nodes", "", "all:", -1, []int{0, 1, 2, 3}},
			{"to all machines", "", "-1,all:", -1, []int{-1, 0, 1, 2, 3}},
			{"from a node", "1:", "", 1, []int{-1}},
			{"from a node to others", "1:", "0,2-3:", 1, []int{0, 2, 3}},
			{"from a node to all machines", "3:", "all,master:", 3, []int{0, 1, 2, 3, -1}},
			{"on one node", "2:", "2:", 2, []int{2}},
		} {
			if user != cluster.Root && len(tc.targets) != 3 {
				continue // other users have no other paths to go
			}
			t.Run(user.Name+" "+tc.name, func(t *testing.T) {
				c := cluster.Shared(t, 4)
				wantIdle(t, c)
				emptyCopies(t, c)
				source := machines(c, tc.source)[0]
				original, target := copyDir+"/original", copyDir+"/copy"
				ask(t, source, user, "python3", copyScript(t, "tree.py"), original)
				targets := machines(c, tc.targets...)
				ask(t, c.Front, user, "bpcp", "-r", "-p", "--", tc.from+original, tc.to+target)
				wantCopies(t, source, original, targets, target)
				// Again, onto existing files.
				ask(t, c.Front, user, "bpcp", "-rp", "--", tc.from+original+"/.", tc.to+target)
				wantCopies(t, source, original, targets, target)
				emptyCopies(t, c)
			})
		}
	}
}

// TestCopyNames calls copies in the ways of cp(1) and scp(1).
func TestCopyNames(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	emptyCopies(t, c)
	for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
		ask(t, m, cluster.Alice, "sh", "-c", "cd /dev/shm && mkdir -p d/e && hostname >d/name && cp d/name d/e/other")
	}
	for _, tc := range []struct{ args, node, files string }{
		{"d/name 1:/dev/shm/x", "1", "x=front"},
		{`d/name "1:$(printf 'x/d\377')"`, "1", "x/d\xff=front"},
		{"d/name 1:/dev/shm/new/", "", ""},
		{"d/name d/e/other 1:/dev/shm/x", "1", "x/name=front x/other=front"},
		{"-r d 1:x", "1", "x/name=front x/e/other=front"},
		{"-r d/. 1:x", "1", "x/name=front x/e/other=front"},
		{"-r 0:d 1:d/name 2:/dev/shm/x", "2", "x/d/name=n0 x/d/e/other=n0 x/name=n1"},
		{"0-2:d/name x", "-1", "x/name.0=n0 x/name.1=n1 x/name.2=n2"},
		{"all:d/e/other d/name 3:x", "3", "x/name=front x/other.0=n0 x/other.1=n1 x/other.2=n2 x/other.3=n3"},
		{"-r 1,2:d/. 0:x", "0", "x/d.1/e/other=n1 x/d.1/name=n1 x/d.2/e/other=n2 x/d.2/name=n2"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			prepare := "rm -rf x"
			if strings.Contains(tc.files, "x/name") && !strings.HasPrefix(tc.args, "-r d 1:x") && !strings.HasPrefix(tc.args, "-r d/. ") || strings.Contains(tc.files, "x/d") {
				prepare += "; mkdir x"
			}
			for _, m := range append([]*cluster.Machine{c.Front}, c.Nodes...) {
				ask(t, m, cluster.Alice, "sh", "-c", "cd /dev/shm; "+prepare)
			}
			res, err := c.Front.Exec(t.Context(), cluster.Alice, "sh", "-c", "cd /dev/shm && bpcp "+tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if tc.files == "" {
				if res.Code == 0 {
					t.Errorf("got %+v, want an error", res)
				}
				return
			}
			if res.Code != 0 || res.Stderr != "" {
				t.Fatalf("got %+v", res)
			}
			var id int
			_, _ = fmt.Sscan(tc.node, &id)
			got := ask(t, machines(c, id)[0], cluster.Alice, "sh", "-c", "cd /dev/shm; find x -type f | LC_ALL=C sort | while read f; do echo $f=$(cat $f); done")
			if got = strings.Join(strings.Fields(got), " "); strings.Join(sorted(got), " ") != strings.Join(sorted(tc.files), " ") {
				t.Errorf("got %s, want %s", got, tc.files)
			}
		})
	}
	emptyCopies(t, c)
}

func sorted(words string) []string { return slices.Sorted(strings.FieldsSeq(words)) }

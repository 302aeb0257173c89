package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"bproc/test/cluster"
)

// conform returns the path of a program of the conformance suite.
func conform(t *testing.T, name string) string {
	t.Helper()
	return cluster.Program(t, "testdata/conform/"+name+".c")
}

// TestConform runs the programs of the conformance suite natively and on a node: their outputs must
// be the same.
func TestConform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"births", "kin", "waits", "stops", "ends", "creds"} {
		t.Run(name, func(t *testing.T) {
			argv := []string{conform(t, name)}
			if name == "creds" {
				argv = append(argv, setIDPrograms(t, argv[0]))
			}
			for _, user := range users {
				t.Run(user.Name, func(t *testing.T) {
					c := cluster.Shared(t, 4)
					bothPlaces(t, c, func(t *testing.T, at place) []string {
						return converse(t, c, user, at, argv...).rest()
					})
				})
			}
		})
	}
}

// TestConformLanguages does the same with programs in languages that make processes in their own
// ways.
func TestConformLanguages(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("testdata/conform/births.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"Go":     {cluster.Program(t, "testdata/conform/births.go")},
		"Python": {"/usr/bin/python3", readable(t, script)},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string {
				return converse(t, c, cluster.Alice, at, argv...).rest()
			})
		})
	}
}

// readable copies a file to where every user can read it.
func readable(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(conform(t, "target")), filepath.Base(file))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConformUnderSubreaper has an ancestor on the front end adopt the orphans of a node.
func TestConformUnderSubreaper(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	bothPlaces(t, c, func(t *testing.T, at place) []string {
		return converse(t, c, cluster.Alice, at.under(conform(t, "adopter")), conform(t, "kin")).rest()
	})
}

// setIDPrograms makes set-uid and set-gid copies of a program, and returns their directory.
func setIDPrograms(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(program), "set-id")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, copy := range []struct {
		name     string
		uid, gid int
		mode     os.FileMode
	}{
		{"suid-root", 0, 0, os.ModeSetuid},
		{"suid-bob", int(cluster.Bob.UID), 0, os.ModeSetuid},
		{"sgid-bob", 0, int(cluster.Bob.GID), os.ModeSetgid},
	} {
		path := filepath.Join(dir, copy.name)
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, copy.uid, copy.gid); err != nil {
			t.Fatal(err)
		}
		// After chown, which clears these bits.
		if err := os.Chmod(path, 0o755|copy.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

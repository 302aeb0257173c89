package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// TreeVariable names the environment variable with the directory of an install tree (make build).
// Without it the commands are built.
const TreeVariable = "BPROC_TREE"

// installed returns the install tree that machines see as [Prefix].
var installed = sync.OnceValues(func() (string, error) {
	s, err := theSite()
	if err != nil {
		return "", err
	}
	tree := os.Getenv(TreeVariable)
	if tree == "" {
		tree = filepath.Join(s.dir, "tree")
		if err := buildTree(tree); err != nil {
			return "", err
		}
	}
	prefix := filepath.Join(s.dir, "prefix")
	return prefix, installTree(tree, prefix)
})

// moduleDir returns the directory of the module that contains the working directory.
func moduleDir() (string, error) {
	out, err := hostOutput(nil, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(out)
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("the working directory is not in the module bproc (%s names an install tree)", TreeVariable)
	}
	return filepath.Dir(mod), nil
}

// buildTree makes an install tree of the module's commands, with the race detector if the tests
// have it.
func buildTree(tree string) error {
	dir, err := moduleDir()
	if err != nil {
		return err
	}
	args := []string{"-C", dir, "--no-print-directory", "-s", "build", "BUILD=" + tree}
	if Race {
		args = append(args, "RACE=1")
	}
	_, err = hostOutput(nil, "make", args...)
	return err
}

// installTree copies a tree to where ordinary users can execute it, and gives the ghost's image and
// bpns the file capabilities that copying has removed.
func installTree(tree, prefix string) error {
	if err := copyTree(tree, prefix); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	keeper, ghost := filepath.Join(prefix, "lib/bproc/bpkeeper"), filepath.Join(prefix, "lib/bproc/ghost")
	if err := os.Remove(ghost); err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, err := hostOutput(nil, keeper, "--install-ghost", ghost); err != nil {
		return fmt.Errorf("install the ghost's image: %w", err)
	}
	if _, err := hostOutput(nil, "setcap", "cap_sys_admin=ep", filepath.Join(prefix, "bin/bpns")); err != nil {
		return fmt.Errorf("install bpns: %w", err)
	}
	return nil
}

// copyTree copies the parts of an install tree: the directory also has packages, tools and virtual
// machines.
func copyTree(tree, prefix string) error {
	for _, part := range []string{"bin", "sbin", "lib", "share"} {
		from := filepath.Join(tree, part)
		if _, err := os.Stat(from); part == "share" && os.IsNotExist(err) {
			continue // completions, which "make build" does not make
		}
		if err := os.CopyFS(filepath.Join(prefix, part), os.DirFS(from)); err != nil {
			return err
		}
	}
	return nil
}

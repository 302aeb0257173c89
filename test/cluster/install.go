package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// TreeVariable names the environment variable with the directory of an install
// tree (make build). Without it the commands are built.
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

// moduleDir returns the directory of the module that this process works in.
func moduleDir() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("the working directory is not in the module bproc (%s names an install tree)", TreeVariable)
	}
	return filepath.Dir(mod), nil
}

// buildTree makes an install tree of the module's commands, with the race
// detector if the tests have it.
func buildTree(tree string) error {
	dir, err := moduleDir()
	if err != nil {
		return err
	}
	args := []string{"-C", dir, "--no-print-directory", "-s", "build", "BUILD=" + tree}
	if Race {
		args = append(args, "RACE=1")
	}
	if out, err := exec.Command("make", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w: %s", err, out)
	}
	return nil
}

// installTree copies a tree to where ordinary users can execute it, and gives the
// ghost's image and bpns the file capabilities that a copy has lost.
func installTree(tree, prefix string) error {
	if err := os.CopyFS(prefix, os.DirFS(tree)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	keeper, ghost := filepath.Join(prefix, "lib/bproc/bpkeeper"), filepath.Join(prefix, "lib/bproc/ghost")
	if err := os.Remove(ghost); err != nil && !os.IsNotExist(err) {
		return err
	}
	if out, err := exec.Command(keeper, "--install-ghost", ghost).CombinedOutput(); err != nil {
		return fmt.Errorf("install the ghost's image: %w: %s", err, out)
	}
	if out, err := exec.Command("setcap", "cap_sys_admin=ep", filepath.Join(prefix, "bin/bpns")).CombinedOutput(); err != nil {
		return fmt.Errorf("install bpns: setcap: %w: %s", err, out)
	}
	return nil
}

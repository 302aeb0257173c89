// Generate writes shell completions: "generate TREE" does it for the commands in an install tree,
// below share/ in the tree.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"bproc/packaging/completion"
)

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "completions: %v\n", err)
		os.Exit(1)
	}
}

// shells has the paths from which each shell loads completions on demand.
var shells = []struct {
	file string // for a command
	text func(completion.Program) string
}{
	{"bash-completion/completions/%s", completion.Bash},
	{"zsh/site-functions/_%s", completion.Zsh},
	{"fish/vendor_completions.d/%s.fish", completion.Fish},
}

func generate(tree string) error {
	for _, program := range []string{"bin/bpsh", "bin/bprsh", "bin/bpstat", "bin/bpctl", "bin/bpcp", "bin/bpjob", "bin/bpns", "sbin/bpmaster", "sbin/bpslave", "sbin/bpprocfs"} {
		path := filepath.Join(tree, program)
		help, err := exec.Command(path, "--help").Output()
		if err != nil {
			return fmt.Errorf("%s --help: %w", path, err)
		}
		name := filepath.Base(program)
		p, err := completion.Parse(name, string(help), func(sub string) (string, error) {
			help, err := exec.Command(path, sub, "--help").Output()
			return string(help), err
		})
		if err != nil {
			return err
		}
		for _, shell := range shells {
			to := filepath.Join(tree, "share", fmt.Sprintf(shell.file, name))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(to, []byte(shell.text(p)), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

package completion_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bproc/packaging/completion"
)

// helps are help texts with everything that may occur.
var helps = map[string]string{
	"bpsh": `Run a command

Usage:
  bpsh [options] nodes command

Flags:
  -n, --no-input     standard input isn't used: [/dev/null]
  -b, --buffer int   longest line (default 4096)
  -I, --stdin file   standard input is this file
  -a, --all-up       on all nodes
      --procfs       sees the cluster
`,
	"bpctl": `Change nodes

Usage:
  bpctl -S nodes

Available Commands:
  enroll      Print a token
  check       Say what is missing
  tag         Set tags

Flags:
  -S, --slave nodes   change these nodes
  -s, --state state   set the state

Use "bpctl [command] --help".
`,
	"bpcp": `Copy files

Usage:
  bpcp [-r] source ... target

Flags:
  -r, --recursive   copy directories
`,
	"bpjob": `Work with jobs

Usage:
  bpjob check

Available Commands:
  check       Say what is wrong
  stop        Stop a process
  logs        Print logs

Flags:
  -v, --version   print the version
`,
	"bpjob check":  "Say\n\nFlags:\n      --json       print JSON\n      --job name   the name\n",
	"bpjob stop":   "Stop\n\nFlags:\n  -h, --help   print this help\n",
	"bpjob logs":   "Print\n\nFlags:\n  -f, --follow   go on\n",
	"bpctl enroll": "Print a token\n\nFlags:\n      --name name   the name\n      --node int32   the number\n",
	"bpctl tag":    "Tag\n\nFlags:\n  -h, --help   print this help\n",
	"bpctl check":  "Say\n\nFlags:\n      --node   this is a node\n",
}

func program(t *testing.T, name string) completion.Program {
	t.Helper()
	p, err := completion.Parse(name, helps[name], func(sub string) (string, error) { return helps[name+" "+sub], nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// typed are incomplete lines with their completions. The nodes are 0 to 2, the jobs db and web.
var typed = []struct {
	line string
	want []string
}{
	{"bpsh --st", []string{"--stdin"}},
	{"bpsh --no", []string{"--no-input"}},
	{"bpsh --b", []string{"--buffer"}},
	{"bpsh u", []string{"up"}},
	{"bpsh -n a", []string{"all"}},
	{"bpctl -S ", []string{"0", "1", "2"}},
	{"bpctl -S 1 -s d", []string{"down"}},
	{"bpctl en", []string{"enroll"}},
	{"bpctl tag ", []string{"0", "1", "2", "all", "down", "up"}},
	{"bpctl tag 1", []string{"1"}},
	{"bpctl enroll --n", []string{"--name", "--node"}},
	{"bpcp --rec", []string{"--recursive"}},
	{"bpcp -r u", []string{"up:"}},
	{"bpcp 2", []string{"2:"}},
	{"bpctl check --no", []string{"--node"}},
	{"bpjob ch", []string{"check"}},
	{"bpjob stop ", []string{"db", "web"}},
	{"bpjob stop w", []string{"web"}},
	{"bpjob logs -f d", []string{"db"}},
	{"bpjob check --js", []string{"--json"}},
	{"bpjob check /etc/hostna", []string{"/etc/hostname"}},
	{"bpjob check --json /etc/hostna", []string{"/etc/hostname"}},
}

// programs puts a bpstat that prints nodes 0 to 2, and a bpjob that prints two jobs, first in PATH.
func programs(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bpstat"), []byte("#!/bin/sh\n[ \"$*\" = -n ] && printf '0\\n1\\n2\\n'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// As "bpjob list --json" prints them.
	const list = `[
  {
    "name": "web",
    "job": "web",
    "process": "web"
  },
  {
    "name": "web.cache",
    "job": "web",
    "process": "cache"
  },
  {
    "name": "db",
    "job": "db",
    "process": "db"
  }
]`
	if err := os.WriteFile(filepath.Join(dir, "bpjob"), []byte("#!/bin/sh\n[ \"$*\" = 'list --json' ] && echo '"+list+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
}

// write writes a completion to a file.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func check(t *testing.T, line string, cmd *exec.Cmd, want []string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var got []string
	for l := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(l), "\t") // fish adds a description
		got = append(got, word)
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q: got %q, %v, want %q", line, got, err, want)
	}
}

func TestBash(t *testing.T) {
	programs(t)
	for _, c := range typed {
		words := strings.Split(c.line, " ")
		script := `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _$1; printf '%s\n' "${COMPREPLY[@]}"`
		file := write(t, completion.Bash(program(t, words[0])))
		check(t, c.line, exec.Command("bash", append([]string{"-c", script, file}, words...)...), c.want)
	}
	// The command that bpsh runs has its own completion.
	file := write(t, completion.Bash(program(t, "bpsh")))
	script := `. "$0"; _command_offset() { echo "offset $1"; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bpsh`
	check(t, "bpsh -n 0 ls -", exec.Command("bash", "-c", script, file, "bpsh", "-n", "0", "ls", "-"), []string{"offset 3"})
}

func TestFish(t *testing.T) {
	programs(t)
	for _, c := range typed {
		file := write(t, completion.Fish(program(t, strings.Fields(c.line)[0])))
		check(t, c.line, exec.Command("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", file, c.line), c.want)
	}
}

// TestZsh checks that zsh accepts all completions.
func TestZsh(t *testing.T) {
	for _, name := range []string{"bpsh", "bpctl", "bpcp", "bpjob"} {
		p := program(t, name)
		text := completion.Zsh(p)
		if out, err := exec.Command("zsh", "-n", write(t, text)).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		for _, o := range p.Options {
			if !strings.Contains(text, "--"+o.Long) {
				t.Errorf("%s: there is no option --%s", name, o.Long)
			}
		}
	}
}

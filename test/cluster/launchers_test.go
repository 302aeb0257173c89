package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// launch runs a shell line on the front end, in a directory of its own, with an ssh in PATH that is
// bprsh, and an srun that is bpsh.
func launch(t *testing.T, c *cluster.Cluster, line string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	script := `d=$(mktemp -d) && trap 'rm -rf $d' EXIT && cd $d && mkdir bin home && ln -s $(command -v bprsh) bin/ssh && ln -s $(command -v bpsh) bin/srun &&
export PATH=$d/bin:$PATH HOME=$d/home PARALLEL_HOME=$d/home SHELL=/bin/sh LC_ALL=C && ` + line
	res, err := c.Front.Exec(ctx, cluster.Root, "bash", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	if res.Stderr != "" {
		t.Logf("standard error:\n%s", res.Stderr)
	}
	return res.Stdout, res.Code
}

// sortedLines returns the sorted lines of a text.
func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestLaunchers has programs start others on nodes by bprsh, as docs/launchers.md describes.
func TestLaunchers(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	n0, n1 := c.Nodes[0].Name, c.Nodes[1].Name
	seq := func(from, to int) (lines []string) {
		for i := from; i <= to; i++ {
			lines = append(lines, fmt.Sprint(i))
		}
		slices.Sort(lines)
		return lines
	}
	all := strings.Join(seq(1, 64), "\n")
	playbook, err := filepath.Abs("testdata/ansible/playbook.yml")
	if err != nil {
		t.Fatal(err)
	}
	const sum = "find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"
	for _, tt := range []struct {
		name string
		line string
		want string // sorted
		code int
	}{
		{"xargs", "seq 64 | xargs -P 32 -I{} bprsh -n n1 'echo {}'", all, 0},
		{"xargs, one fails", "seq 4 | xargs -P 4 -I{} bprsh n1 'exit $(({} == 3))'", "", 123},
		{"rsync", "rsync -a -e bprsh /usr/include/asm-generic/ n1:/tmp/tree/ && rsync -a -e bprsh n1:/tmp/tree/ back/ && bprsh n1 rm -r /tmp/tree && (cd /usr/include/asm-generic && " + sum + ") >a && (cd back && " + sum + ") >b && cmp a b && ls back | wc -l >c && [ $(cat c) -gt 10 ] && echo same", "same", 0},
		{"git", `export GIT_SSH_COMMAND=bprsh; bprsh n1 'git init -q --bare /tmp/repo.git' && git init -q -b main work && cd work && seq 1000 >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git push -q n1:/tmp/repo.git main && cd .. && git clone -q -b main n1:/tmp/repo.git copy && cmp work/f copy/f && bprsh n1 rm -r /tmp/repo.git && echo same`, "same", 0},
		{"parallel", "parallel --ssh bprsh -S 2/n0,2/n1 'echo {}; hostname >&2' ::: $(seq 6) 2>hosts; rc=$?; sort -u hosts; exit $rc", strings.Join(append(seq(1, 6), n0, n1), "\n"), 0},
		{"parallel --pipe", "seq 64 | parallel --pipe -N 16 --ssh bprsh -S 1/n0,1/n1 cat", all, 0},
		{"parallel's job log", "parallel --joblog log --ssh bprsh -S 2/n0 'exit {}' ::: 0 7; rc=$?; tail -n +2 log | cut -f 7; parallel --joblog log --ssh bprsh -S 1/n0 'kill -9 $$' ::: x; tail -n +2 log | cut -f 7; exit $rc", "0\n137\n7", 1},
		{"parallel --halt", "parallel --halt now,fail=1 --ssh bprsh -S 2/n0 ::: 'exit 5' 'sleep 1000'", "", 5},
		{"pdsh -R exec", "pdsh -R exec -S -w 'n[0-1]' bprsh %h 'hostname; exit 4'", "n0: " + n0 + "\nn1: " + n1, 4},
		{"pdsh -R ssh", "pdsh -R ssh -S -w 'n[0-1]' 'hostname; kill -9 $$'", "n0: " + n0 + "\nn1: " + n1, 137},
		{"clush", "clush -O ssh_path=bprsh -S -w 'n[0-1]' 'hostname; exit 3'", "n0: " + n0 + "\nn1: " + n1, 3},
		{"srun", `srun -l -N 2 -n 3 -w n[0-3] -K sh -c 'echo $SLURM_LOCALID on $(hostname)'; srun -w n[0-1] sh -c 'exit $SLURM_NODEID'`, "0: 0 on " + n0 + "\n1: 1 on " + n0 + "\n2: 0 on " + n1, 1},
		{"ansible", "export LC_ALL=C.UTF-8 ANSIBLE_NOCOLOR=1; ansible-playbook -i n0,n1, -e ansible_ssh_executable=bprsh -e ansible_ssh_transfer_method=piped " + playbook + ` | sed -n 's/ *: / /; s/  */ /g; s/^\(n[01] .*\) skipped.*/\1/p'`, "n0 ok=7 changed=5 unreachable=0 failed=0\nn1 ok=7 changed=5 unreachable=0 failed=0", 0},
		{"ansible, as a user", "export LC_ALL=C.UTF-8 ANSIBLE_NOCOLOR=1; ansible -i n0, all -u root -m raw -a 'id -un' -e ansible_ssh_executable=bprsh -e ansible_ssh_transfer_method=piped | grep -v '>>'", "root", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, code := launch(t, c, tt.line)
			if got := sortedLines(out); got != sortedLines(tt.want) || code != tt.code {
				t.Errorf("got code %d, %q, want %d, %q", code, got, tt.code, sortedLines(tt.want))
			}
			wantIdle(t, c)
		})
	}
}

// TestLauncherEnds ends launchers, or their agents, while programs run on nodes: nothing is left
// there.
func TestLauncherEnds(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	for _, tt := range []struct {
		name   string
		line   string // ends with the launcher
		signal unix.Signal
	}{
		{"xargs", "echo n1 | exec xargs -I{} bprsh {} 'sleep 1000; true'", unix.SIGKILL},
		{"bprsh, gently", "exec bprsh n1 'sleep 1000; true'", unix.SIGTERM},
		{"bprsh", "exec bprsh n1 'sleep 1000; true'", unix.SIGKILL},
		{"bprsh, of a job in a group of its own", "exec bprsh n1 \"bash -mc 'sleep 1000 & exec sleep 1000'\"", unix.SIGKILL},
		{"bprsh, of a job whose leader obeys", "exec bprsh n1 \"bash -mc 'sleep 1000 & exec sleep 1000'\"", unix.SIGTERM},
		{"parallel", "exec parallel --ssh bprsh -S 1/n1 ::: 'sleep 1000; true'", unix.SIGTERM},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantIdle(t, c)
			cmd := c.Front.Command(t.Context(), cluster.Root, "bash", "-c", tt.line)
			cmd.Env = append(cmd.Env, "HOME=/root", "PARALLEL_HOME=/tmp/parallel")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "it runs", func() error {
				all, err := c.Nodes[1].Named("sleep")
				if err == nil && len(all) == 0 {
					err = errors.New("no sleep on the node")
				}
				return err
			})
			// The group, as a batch system or a terminal does.
			if err := unix.Kill(-cmd.Process.Pid, tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			wantIdle(t, c)
		})
	}
}

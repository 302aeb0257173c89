package bpsh_test

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// srun runs bpsh under the name srun.
func srun(t *testing.T, c client.Client, stdin io.Reader, args ...string) result {
	t.Helper()
	var stdout, stderr buffer
	sh := bpsh.Shell{Client: &c, Stdin: stdin, Stdout: &stdout, Stderr: &stderr}
	code := sh.Srun(t.Context(), args)
	return result{code, stdout.String(), stderr.String()}
}

// places handles Run by printing the variables with the command's position.
func places(c *fakemaster.Conn, r *wire.Run) {
	values := map[string]string{}
	for _, v := range r.Command.Env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	c.Started()
	_ = c.Output(out, strings.Join([]string{
		"task", values["SLURM_PROCID"], "local", values["SLURM_LOCALID"], "node", values["SLURM_NODEID"],
		values["SLURM_TASKS_PER_NODE"], values["SLURM_JOB_NODELIST"],
	}, " ")+"\n")
	c.End(0)
}

func TestSrun(t *testing.T) {
	for _, name := range []string{"SLURM_NNODES", "SLURM_NTASKS", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "NODES"} {
		t.Setenv(name, "")
	}
	m := fakemaster.Start(t, onRun(places))
	for _, tt := range []struct {
		line   string
		env    string // NAME=VALUE
		stdout string // in order
		stderr string
	}{
		{line: "cmd", stdout: "task 0 local 0 node 0 1 n0\n"},
		{line: "-N2 cmd", stdout: "task 0 local 0 node 0 1(x2) n0,n1\ntask 1 local 0 node 1 1(x2) n0,n1\n"},
		{line: "--nodelist n1,n0 -N 2 -n 2 --input none cmd", stdout: "task 0 local 0 node 0 1(x2) n1,n0\ntask 1 local 0 node 1 1(x2) n1,n0\n"},
		{line: "-l -w n[0-1] -n 3 cmd", stdout: "0: task 0 local 0 node 0 2,1 n0,n1\n1: task 1 local 1 node 0 2,1 n0,n1\n2: task 2 local 0 node 1 2,1 n0,n1\n"},
		{line: "-n 2 --ntasks-per-node=2 -p batch --cpu-bind=none -u -J name cmd", stdout: "task 0 local 0 node 0 2 n0\ntask 1 local 1 node 0 2 n0\n"},
		{line: "-K1 --cpu_bind=none --mem-bind none --external-launcher cmd", stdout: "task 0 local 0 node 0 1 n0\n"},
		{line: "-N 2 -lK0 false", stdout: "0: task 0 local 0 node 0 1(x2) n0,n1\n1: task 1 local 0 node 1 1(x2) n0,n1\n"},
		{line: "-n 1 -w n[0-1] cmd", stdout: "task 0 local 0 node 0 1 n0\n"},
		{line: "-x n0 cmd", stdout: "task 0 local 0 node 0 1 n1\n"},
		{line: "cmd", env: "SLURM_JOB_NODELIST=n1", stdout: "task 0 local 0 node 0 1 n1\n"},
		{line: "cmd", env: "SLURM_NTASKS=2", stdout: "task 0 local 0 node 0 1(x2) n0,n1\ntask 1 local 0 node 1 1(x2) n0,n1\n"},
		{line: "-n 1 -w n1 cmd", env: "SLURM_NNODES=3", stdout: "task 0 local 0 node 0 1 n1\n"},
		{line: "-w n1 cmd", env: "SLURM_NNODES=3", stdout: "task 0 local 0 node 0 1 n1\n"},
		{line: "cmd", env: "SLURM_NNODES=2", stdout: "task 0 local 0 node 0 1(x2) n0,n1\ntask 1 local 0 node 1 1(x2) n0,n1\n"},
		{line: "cmd", env: "SLURM_NNODES=3", stderr: "srun: 3 nodes are asked for, and there are 2\n"},
		{line: "-N 3 -n 2 -w n0,n1 cmd", stdout: "task 0 local 0 node 0 1(x2) n0,n1\ntask 1 local 0 node 1 1(x2) n0,n1\n"},
		{line: "-N 3 -n 3 cmd", stderr: "srun: 3 nodes are asked for, and there are 2\n"},
		{line: "-N 3 cmd", stderr: "srun: 3 nodes are asked for, and there are 2\n"},
		{line: "-n 0 cmd", stderr: "srun: --ntasks 0: a number from 1 to 65536\n"},
		{line: "--ntasks-per-node 0 cmd", stderr: "srun: --ntasks-per-node 0: a number from 1 to 65536\n"},
		{line: "-N x cmd", stderr: "srun: --nodes=x: a number, or two as in 2-4\n"},
		{line: "-N 2 -n 5 --ntasks-per-node 2 cmd", stderr: "srun: 5 commands are too many for 2 nodes with 2 each\n"},
		{line: "--mpi=pmix cmd", stderr: "srun: --mpi=pmix: there is no server of PMI here; start MPI programs by mpirun or mpiexec\n"},
		{line: "-w n[0,7-3] cmd", stderr: "srun: node specification \"(n0,n7-3)\": range n7-3 ends before it begins\n"},
		{line: "-t 1:2:3:4 cmd", stderr: "srun: --time=1:2:3:4: minutes, h:m:s or days-h:m:s\n"},
		{line: "-i 1 cmd", stderr: "srun: --input=1: there are 1 commands\n"},
		{line: "-G 1 -B 2:1 --gpu-bind=single:1 --mem-per-gpu 1G --reservation r -L lic --contiguous cmd", stdout: "task 0 local 0 node 0 1 n0\n"},
		{line: "--exclusive=user --nice --immediate=5 --propagate cmd", stdout: "task 0 local 0 node 0 1 n0\n"},
		{line: "-o out cmd", stderr: "srun: option -o, --output: not here: redirect the output of srun by >, or use -O of bpsh\n"},
		{line: "--test-only cmd", stderr: "srun: option --test-only: not here: there is no queue\n"},
		{line: "-n 2", stderr: "srun: no command given\n"},
		{line: "--nothing cmd", stderr: "srun: there is no option --nothing; --help lists those that there are\n"},
	} {
		t.Run(tt.line+" "+tt.env, func(t *testing.T) {
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(name, value)
			}
			got := srun(t, m.Client, strings.NewReader(""), strings.Fields(tt.line)...)
			code := 0
			if tt.stderr != "" {
				code = 255
			}
			lines := slices.Sorted(strings.Lines(got.stdout))
			if strings.Join(lines, "") != tt.stdout || got.stderr != tt.stderr || got.code != code {
				t.Errorf("got %+v, want %d, %q and %q", got, code, tt.stdout, tt.stderr)
			}
		})
	}
}

// TestSrunTime has limits that a command which takes no time keeps, and others that are none.
func TestSrunTime(t *testing.T) {
	m := fakemaster.Start(t, onRun(places))
	for _, limit := range []string{"1", "1:30", "1-0", "65535-23:59:59", "0", "UNLIMITED", "infinite", "307445735", "4294967295", "4294967295:0:0"} {
		if got := srun(t, m.Client, strings.NewReader(""), "-w", "n0", "-t", limit, "cmd"); got.code != 0 || got.stderr != "" {
			t.Errorf("%s: got %+v", limit, got)
		}
	}
	for _, limit := range []string{"x", "1-", "-1", "1:x", "4294967296"} {
		if got := srun(t, m.Client, strings.NewReader(""), "-w", "n0", "-t", limit, "cmd"); got.code != 255 {
			t.Errorf("%s: got %+v", limit, got)
		}
	}
}

// TestSrunInput gives standard input to one command.
func TestSrunInput(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		c.Started()
		if r.Command.Stdio[0].Mode == wire.DescriptorStream {
			_ = c.Output(out, r.Node.String()+" reads\n")
		}
		c.End(0)
	}))
	if got := srun(t, m.Client, strings.NewReader("x"), "-w", "n0,n1", "-i", "1", "cmd"); got.stdout != "1 reads\n" {
		t.Errorf("got %+v", got)
	}
}

// TestSrunKill lets the first of two commands fail, which ends the second only with
// --kill-on-bad-exit.
func TestSrunKill(t *testing.T) {
	t.Setenv("PIPE", t.TempDir()+"/pipe")
	if err := unix.Mkfifo(os.Getenv("PIPE"), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts := map[int]string{
		3: "case $SLURM_PROCID in 0) exit 3;; *) sleep 100;; esac",
		4: "case $SLURM_PROCID in 0) exec >$PIPE; exit 3;; *) cat <$PIPE; exit 4;; esac", // 4: after the end of the first
	}
	m := fakemaster.Start(t, onRun(nil))
	for option, code := range map[string]int{"-K": 3, "-K1": 3, "--kill-on-bad-exit": 3, "-K0": 4, "-K=0": 4, "-u": 4} {
		script := scripts[code]
		if got := srun(t, m.Client, strings.NewReader(""), "-w", "master", "-n", "2", option, "sh", "-c", script); got.code != code {
			t.Errorf("%s: got %+v, want %d", option, got, code)
		}
	}
}

// TestSrunManPage looks for all options of srun in the manual page of bpsh.
func TestSrunManPage(t *testing.T) {
	help := srun(t, client.Client{}, nil, "--help")
	if help.code != 0 || help.stderr != "" {
		t.Fatalf("got %+v", help)
	}
	page, err := os.ReadFile("../../../man/bpsh.1")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), ".Ss As srun\n")
	section, _, _ = strings.Cut(section, ".S")
	options := regexp.MustCompile(`(?m)^ +(?:-\w, |    )--([\w-]+)`).FindAllStringSubmatch(help.stdout, -1)
	if len(options) < 10 {
		t.Fatalf("the help has the options %v", options)
	}
	for _, o := range options {
		if !strings.Contains(section, ".It Li --"+o[1]) {
			t.Errorf("man/bpsh.1 lacks --%s", o[1])
		}
	}
}

package cluster_test

import (
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestBprsh checks what launchers expect of an agent such as rsh and ssh.
func TestBprsh(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	tests := []struct {
		name    string
		args    []string
		input   string
		code    int
		stdout  string
		stderr  string
		contain bool // stderr only has to contain the text
	}{
		{name: "words are joined", args: []string{"n1", `"/bin/echo"`, "a  b", "; echo $((1+2))"}, stdout: "a b\n3\n"},
		{name: "options of ssh", args: []string{"-x", "-oBatchMode=yes", "-o", "ConnectTimeout=10", "-2", "-a", "-q", "-p", "22", "-i", "/none", "-lroot", ".1", "echo $USER"}, stdout: "root\n"},
		{name: "options behind the node", args: []string{"1", "-n", "-x", "echo", "-n", "x"}, stdout: "x"},
		{name: "words behind dashes", args: []string{"root@1", "--", "echo", "--", "-n"}, stdout: "-- -n\n"},
		{name: "exit code", args: []string{"n1", "exit 7"}, code: 7},
		{name: "signal", args: []string{"n1", "kill -9 $$"}, code: 137},
		{name: "outputs are apart", args: []string{"n1", "echo out; echo err >&2"}, stdout: "out\n", stderr: "err\n"},
		{name: "input", args: []string{"n1", "cat; echo end"}, input: "bytes\x00\xff", stdout: "bytes\x00\xffend\n"},
		{name: "no input", args: []string{"-n", "n1", "cat"}, input: "lost"},
		{name: "a shell reads input", args: []string{"-T", "n1"}, input: "echo $0; exit 4\n", code: 4, stdout: "-bash\n"},
		{name: "environment", args: []string{"n1", "echo $HOME $SHELL $LOGNAME $PATH $(pwd) $FOREIGN"}, stdout: "/root /bin/bash root /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /root\n"},
		{name: "set variables", args: []string{"-o", "SetEnv=A=1 B=2", "-o", "SendEnv=FOREIGN", "n1", "echo $A $B $FOREIGN"}, stdout: "1 2 here\n"},
		{name: "the front end", args: []string{"master", "hostname"}, stdout: c.Front.Name + "\n"},
		{name: "no such node", args: []string{"n77", "true"}, code: 255, stderr: "bprsh: node 77: no such node\n"},
		{name: "several nodes", args: []string{"0-1", "true"}, code: 255, stderr: "bprsh: 0-1: 2 nodes; bprsh runs a command on one (bpsh(1) on many)\n"},
		{name: "no such user", args: []string{"nobody-here@n1", "true"}, code: 255, stderr: "bprsh: user nobody-here is not known here\n"},
		{name: "terminal without one", args: []string{"-t", "n1", "tty"}, code: 1, stdout: "not a tty\n", stderr: "gets no terminal", contain: true},
		{name: "terminal by force", args: []string{"-tt", "n1", "tty | cut -c 1-9; exit 5"}, code: 5, stdout: "/dev/pts/\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := c.Front.Command(t.Context(), cluster.Root, append([]string{"bprsh"}, tt.args...)...)
			cmd.Env = append(cmd.Env, "FOREIGN=here")
			var stdout, stderr strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tt.input), &stdout, &stderr
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if stdout.String() != tt.stdout {
				t.Errorf("stdout %q, want %q", stdout.String(), tt.stdout)
			}
			if got := stderr.String(); got != tt.stderr && (!tt.contain || !strings.Contains(got, tt.stderr)) {
				t.Errorf("stderr %q, want %q", got, tt.stderr)
			}
		})
	}
}

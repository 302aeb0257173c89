package bpstat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bproc/cmd/internal/bpstat"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/manpage"
	"bproc/wire"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }

const nobody = 4_000_000_000 // no user or group has this number

var nodes = []wire.Node{
	{ID: 0, Name: "a", State: "up", Mode: 0o111, Addr: "10.0.0.10:33000", Trust: "full"},
	{ID: 1, Name: "b", State: "up", Mode: 0o111, Addr: "10.0.0.11:33000", Trust: "full"},
	{ID: 3, Name: "d", State: "down", Mode: 0o100, UID: nobody, GID: nobody, Trust: "limited"},
	{ID: 7, Name: "h", State: "up", Mode: 0o111, Addr: "[fd00::7]:33000"},
	{ID: 8, Name: "i", State: "boot", Mode: 0o010, Addr: "10.0.0.18:33000"},
}

func master(t *testing.T) client.Client {
	return fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m.(type) {
		case *wire.ListNodes:
			c.Send(&wire.NodeList{Nodes: nodes})
		case *wire.ListProcs:
			c.Send(&wire.ProcList{Procs: []wire.Proc{{PID: 100, Node: 1}, {PID: 4567, Node: 7}, {PID: 1 << 20, Node: 1}}})
		}
	}).Client
}

func run(t *testing.T, c client.Client, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	s := bpstat.Stat{Client: &c, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &bad, Width: 80}
	code = s.Main(t.Context(), args)
	return code, out.String(), bad.String()
}

const header = "Node(s)                        Status          Mode       User     Group\n"

func TestPrint(t *testing.T) {
	c := master(t)
	tests := []struct {
		args string
		want string
	}{
		{"", header +
			"0-1,7                          up              ---x--x--x root     root\n" +
			"3                              down            ---x------ #4000000000 #4000000000\n" +
			"8                              boot            ------x--- root     root\n"},
		{"-cN", header +
			"0-1                            up              ---x--x--x root     root\n" +
			"3                              down            ---x------ #4000000000 #4000000000\n" +
			"7                              up              ---x--x--x root     root\n" +
			"8                              boot            ------x--- root     root\n"},
		{"-O 7,0", header + "7,0                            up              ---x--x--x root     root\n"},
		{"-l up 3", "Node Address         Status       Mode      \tUser       Group      Trust\n" +
			"   0 10.0.0.10       up           ---x--x--x\troot       root       full\n" +
			"   1 10.0.0.11       up           ---x--x--x\troot       root       full\n" +
			"   3 -               down         ---x------\t#400000000 #400000000 limited\n" +
			"   7 fd00::7         up           ---x--x--x\troot       root       -\n"},
		{"-a 1 3", "10.0.0.11\n-\n"},
		{"-s 3", "down\n"},
		{"-n allup", "0\n1\n7\n"},
		{"-nR", "8\n7\n3\n1\n0\n"},
		{"-nS", "8\n3\n0\n1\n7\n"},
		{"-nO 7,d,0", "7\n3\n0\n"},
		{"-n 7,d,0", "0\n3\n7\n"},
		{"-t", "5\n"},
		{"-t unavailable", "0\n"},
		{"-p", "PID\tNode\n100\t1\n4567\t7\n1048576\t1\n"},
		{"-p 1", "PID\tNode\n100\t1\n1048576\t1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			code, out, bad := run(t, c, "", strings.Fields(tt.args)...)
			if code != 0 || bad != "" {
				t.Errorf("code %d, %q", code, bad)
			}
			if out != tt.want {
				t.Errorf("got\n%s\nwant\n%s", out, tt.want)
			}
		})
	}
}

func TestPS(t *testing.T) {
	c := master(t)
	tests := []struct{ name, ps, want string }{
		{
			"ps", "    PID TTY          TIME CMD\n    100 pts/0    00:00:00 a\n      7 pts/0    00:00:00 4567\n",
			"NODE\t    PID TTY          TIME CMD\n1\t    100 pts/0    00:00:00 a\n\t      7 pts/0    00:00:00 4567\n",
		},
		{
			"ps -f", "UID  PID PPID CMD\n4567 4567 100 x\nroot 2 4567 y\n",
			"NODE\tUID  PID PPID CMD\n7\t4567 4567 100 x\n\troot 2 4567 y\n",
		},
		{"without a header", "4567 x\nno number\n\n", "7\t4567 x\n\tno number\n\t\n"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, bad := run(t, c, tt.ps, "-P")
			if code != 0 || out != tt.want {
				t.Errorf("code %d, %q: got %q, want %q", code, bad, out, tt.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	c := master(t)
	gone := client.Client{Socket: "/nonexistent/socket"}
	tests := []struct {
		args   string
		client client.Client
		want   string
	}{
		{"4", c, "bpstat: node 4: no such node\n"},
		{"x", c, "bpstat: node x: no such node, and no such state\n"},
		{"-P 4", c, "bpstat: -P takes no nodes\n"},
		{"", gone, "bpstat: no master is running here (/nonexistent/socket: no such file or directory); start it with bpmaster\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			code, out, bad := run(t, tt.client, "", strings.Fields(tt.args)...)
			if code != 1 || out != "" || bad != tt.want {
				t.Errorf("got %s, want %s", fmt.Sprint(code, out, bad), tt.want)
			}
		})
	}
}

func TestManPage(t *testing.T) {
	_, help, _ := run(t, client.Client{}, "", "--help")
	manpage.CheckOptions(t, "../../../man/bpstat.1", help)
}

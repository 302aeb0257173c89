package bpstat_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpstat"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/manpage"
	"bproc/wire"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }

const nobody = 4_000_000_000 // no user or group has this number

var nodes = []wire.Node{
	{ID: 0, Name: "a", State: "up", Mode: 0o111, Addr: "10.0.0.10:33000", Trust: "full", Memory: 256 << 30, CPUs: 128, Cores: 64, Sockets: 2, GPUs: 2, Labels: []string{"gpu", "rack=4"}},
	{ID: 1, Name: "b", State: "up", Mode: 0o111, Addr: "10.0.0.11:33000", Trust: "full"},
	{ID: 3, Name: "d", State: "down", Mode: 0o100, UID: nobody, GID: nobody, Trust: "limited"},
	{ID: 7, Name: "h", State: "up", Mode: 0o111, Addr: "[fd00::7]:33000"},
	{ID: 8, Name: "i", State: "boot", Mode: 0o010, Addr: "10.0.0.18:33000"},
}

func master(t *testing.T) client.Client {
	return fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.ListNodes:
			c.Send(&wire.NodeList{Nodes: nodes})
		case *wire.ListHardware:
			for i, id := range m.Nodes {
				c.Send(hardware(id, i == len(m.Nodes)-1, m.Fresh))
			}
		case *wire.ListLoads:
			c.Send(loads(m.Nodes))
		case *wire.ListNumbers:
			c.Send(&wire.NumberList{Numbers: 3 << 20, Home: 8192, Homes: 251, Pool: 1 << 20, Free: 1<<20 - 1<<15, Nodes: []wire.NodeNumbers{
				{ID: 0, Home: 6144, Blocks: 1}, {ID: 1, Home: 6144, Borrowed: 6144 + 12288, Blocks: 3, Short: true}, {ID: 3, Home: 6144}, {ID: 7, Borrowed: 384, Blocks: 1},
			}})
		case *wire.ListProcs:
			c.Send(&wire.ProcList{Procs: []wire.Proc{{PID: 100, Node: 1}, {PID: 4567, Node: 7}, {PID: 1 << 20, Node: 1}}})
		}
	}).Client
}

// hardware returns the hardware of a node: all fields for node 0, few for node 7, none for node 3.
func hardware(id wire.NodeID, last, fresh bool) *wire.HardwareList {
	h := wire.NodeHardware{ID: id, At: 1_700_000_000}
	switch id {
	case 0:
		h.Hardware = &wire.Hardware{
			Maker: "Maker", Model: "Model 7", Arch: "x86_64", Kernel: "6.1.0", System: "Some Linux 12", BootID: "c0ffee", CPU: "Chip X", Sockets: 2, Cores: 64, CPUs: 128,
			Memory: 256 << 30, Usable: 251<<30 + 700<<20,
			Interfaces: []wire.Interface{{Name: "eth0", MAC: "02:00:00:00:00:01", Speed: 25000, Addrs: []string{"10.0.0.10/24", "fe80::1/64"}}, {Name: "ib0"}},
			Disks:      []wire.Disk{{Name: "nvme0n1", Kind: "SSD", Model: "Quick 1", Size: 1_920_383_410_176}, {Name: "sda", Kind: "HDD", Size: 4096}},
			GPUs:       []wire.GPU{{Address: "0000:3b:00.0", Model: "Compute 9"}, {Address: "0000:3c:00.0", Model: "10de:20b0"}},
		}
	case 3:
		if h.At = 0; fresh {
			h.Errno = uint32(unix.EHOSTDOWN)
		}
	default:
		h.Hardware = &wire.Hardware{Arch: "aarch64", Kernel: "5.10.0", BootID: "1", CPUs: 1, Cores: 1, Memory: 1 << 30, Failed: []string{"disks: permission denied"}}
	}
	return &wire.HardwareList{Nodes: []wire.NodeHardware{h}, Last: last}
}

// loads returns the loads of nodes. Node 3 is down, node 8 does not answer.
func loads(nodes []wire.NodeID) *wire.LoadList {
	list := new(wire.LoadList)
	for _, id := range nodes {
		l := wire.NodeLoad{ID: id}
		switch id {
		case 3:
			l.Errno = uint32(unix.EHOSTDOWN)
		case 8:
			l.Errno = uint32(unix.ETIMEDOUT)
		case 0:
			l.Load = &wire.Sampled{Averages: [3]uint32{12345, 6400, 5}, Running: 130, Threads: 12345, Memory: 256 << 30, Available: 3 << 30, Swap: 8 << 30, SwapFree: 1 << 30, Uptime: 100*86400 + 3*3600 + 7*60}
		default:
			l.Load = &wire.Sampled{Averages: [3]uint32{1, 2, 3}, Running: 1, Threads: 99, Memory: 1 << 30, Available: 900 << 20, Uptime: 59}
		}
		list.Nodes = append(list.Nodes, l)
	}
	return list
}

func run(t *testing.T, c client.Client, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	s := bpstat.Stat{Client: &c, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &bad}
	code = s.Main(t.Context(), args)
	return code, out.String(), bad.String()
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestForms compares every form of output with a golden file.
func TestForms(t *testing.T) {
	c := master(t)
	for _, tt := range []struct{ name, args string }{
		{"compact", ""},
		{"compact-number", "-cN"},
		{"compact-kept", "-O 7,0"},
		{"compact-states", "-S"},
		{"compact-reverse", "-cNR"},
		{"long", "-l up 3"},
		{"long-twice", "-lO 1,1,0"},
		{"address", "-a 1 3"},
		{"status", "-s 3"},
		{"number", "-n allup"},
		{"number-reverse", "-nR"},
		{"number-states", "-nS"},
		{"number-kept", "-nO 7,d,0"},
		{"number-sorted", "-n 7,d,0"},
		{"total", "-t"},
		{"total-none", "-t unavailable"},
		{"selected", "-n (tag:gpu,up)&attr:mem>=64G,!up"},
		{"pids", "-p"},
		{"pids-node", "-p 1"},
		{"host-name", "-A h"},
		{"host-address", "-A fd00::7"},
		{"json", "--json"},
		{"json-total", "--json -t up"},
		{"json-number", "--json -nR"},
		{"json-status", "--json -s"},
		{"json-address", "--json -a 0,3"},
		{"json-pids", "--json -p 1"},
		{"json-none", "--json unavailable"},
		{"colour", "--color always"},
		{"colour-long", "--color always -l"},
		{"colour-status", "--color=always -s"},
		{"ignored", "-Lt"},
		{"load", "--load"},
		{"load-json", "--load --json 3,0"},
		{"load-none", "--load unavailable"},
		{"inventory", "--inventory"},
		{"inventory-fresh", "--inventory --fresh 3,0,3"},
		{"inventory-json", "--inventory --json 0,1"},
		{"numbers", "--numbers"},
		{"numbers-node", "--numbers 1"},
		{"numbers-none", "--numbers unavailable"},
		{"numbers-json", "--numbers --json 0,1"},
		{"inventory-none", "--inventory unavailable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, bad := run(t, c, "", strings.Fields(tt.args)...)
			if code != 0 || bad != "" {
				t.Errorf("code %d, %q", code, bad)
			}
			golden(t, tt.name, out)
		})
	}
}

// TestReason checks that the reason of a node's state error is printed.
func TestReason(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Send(&wire.NodeList{Nodes: []wire.Node{
			{ID: 0, Name: "a", State: "error", Mode: 0o100, Addr: "10.0.0.10:33000", Reason: "the set-up script has failed: exit status 3"},
			{ID: 1, Name: "b", State: "up", Mode: 0o111, Addr: "10.0.0.11:33000", Trust: "limited"},
		}})
	})
	for name, args := range map[string]string{"reason-long": "-l", "reason-json": "--json 0"} {
		code, out, bad := run(t, m.Client, "", strings.Fields(args)...)
		if code != 0 || bad != "" {
			t.Errorf("code %d, %q", code, bad)
		}
		golden(t, name, out)
	}
}

// golden compares a text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTerminal checks that the table fits the width of a terminal, with its node lists broken.
func TestTerminal(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		list := new(wire.NodeList)
		for i := range 60 {
			list.Nodes = append(list.Nodes, wire.Node{ID: wire.NodeID(i), State: []string{"up", "down", "error"}[i%3], Mode: 0o111})
		}
		c.Send(list)
	})
	for _, tt := range []struct {
		name  string
		width int
		env   string
	}{
		{"terminal-80", 80, ""},
		{"terminal-40", 40, ""},
		{"terminal-200", 200, ""},
		{"terminal-plain", 120, "NO_COLOR"},
		{"terminal-dumb", 120, "TERM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := bpstat.Stat{
				Client: &m.Client, Stdout: &out, Stderr: &out, Screen: func() (int, int) { return tt.width, 24 },
				Getenv: func(name string) string {
					if name == tt.env {
						return "dumb"
					}
					return ""
				},
			}
			if code := s.Main(t.Context(), []string{}); code != 0 {
				t.Errorf("code %d", code)
			}
			golden(t, tt.name, out.String())
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
		{"-l -n", c, "bpstat: -l and -n exclude each other\n"},
		{"-N -O", c, "bpstat: -N and -O exclude each other\n"},
		{"--color sometimes", c, "bpstat: option --color: \"sometimes\" is none of auto, always and never\n"},
		{"-A 10.0.0.99", c, "bpstat: no node has the name or address 10.0.0.99\n"},
		{"-A a 1", c, "bpstat: -A takes no nodes\n"},
		{"--fresh", c, "bpstat: --fresh is for --inventory\n"},
		{"-l --inventory", c, "bpstat: -l and --inventory exclude each other\n"},
		{"--inventory -U", c, "bpstat: --inventory and -U exclude each other\n"},
		{"-P -U", c, "bpstat: -P and -U exclude each other\n"},
		{"-P --json", c, "bpstat: -P and --json exclude each other\n"},
		{"-U", gone, "bpstat: no master is running here (/nonexistent/socket: no such file or directory): on the front end 'systemctl start bpmaster' or bpmaster itself starts it, and 'bpctl check' says what is wrong\n"},
		{"4", c, "bpstat: node 4: no such node\n"},
		{"x", c, "bpstat: node x: no such node, and no such state\n"},
		{"-A @", c, "bpstat: -A needs a name or an address\n"},
		{"1 @", c, "bpstat: an empty word means no node\n"},
		{"-p @", c, "bpstat: an empty word means no node\n"},
		{"-P 4", c, "bpstat: -P takes no nodes\n"},
		{"", gone, "bpstat: no master is running here (/nonexistent/socket: no such file or directory): on the front end 'systemctl start bpmaster' or bpmaster itself starts it, and 'bpctl check' says what is wrong\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.Fields(tt.args)
			for i := range args {
				args[i] = strings.TrimPrefix(args[i], "@") // a lone @ is an empty operand
			}
			code, out, bad := run(t, tt.client, "", args...)
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

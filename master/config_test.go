package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"bproc/wire"
)

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       func(*Config)
	}{
		{"nothing", "", func(*Config) {}},
		{"blank lines and comments", "\n  \t\n# node 1 a\n", func(*Config) {}},
		{"comment behind a directive", "lease 5# short\n", func(c *Config) { c.Lease = 5 * time.Second }},
		{"a control group", "ghosts /bproc.slice/bproc-ghosts.slice/ghosts", func(c *Config) { c.Ghosts = "/bproc.slice/bproc-ghosts.slice/ghosts" }},
		{"no newline at the end", "expected-nodes 4000", func(c *Config) { c.Numbers.Nodes = 4000 }},
		{"addresses", "listen 10.0.0.1:99\nsocket /tmp/s\n", func(c *Config) { c.Listen, c.Socket = "10.0.0.1:99", "/tmp/s" }},
		{"certificate", "certificate 90m\n", func(c *Config) { c.Certificate = 90 * time.Minute }},
		{"the last one counts", "lease 86400\nlease 1\n", func(c *Config) { c.Lease = time.Second }},
		{"times with units", "lease 2m\nsetup-time 90\npower-time 1h", func(c *Config) {
			c.Lease, c.SetUpTime, c.PowerTime = 2*time.Minute, 90*time.Second, time.Hour
		}},
		{"set-up", "setup /x\nsetups 7\nlogs /l\npower-on ipmitool -H bmc-%n chassis power on", func(c *Config) {
			c.SetUp, c.SetUps, c.Logs, c.PowerOn = "/x", 7, "/l", []string{"ipmitool", "-H", "bmc-%n", "chassis", "power", "on"}
		}},
		{"nodes in a range", "node 7-9 r%n-x\nnode 10 last", func(c *Config) {
			c.Nodes = []NodeConfig{{ID: 7, Name: "r7-x"}, {ID: 8, Name: "r8-x"}, {ID: 9, Name: "r9-x"}, {ID: 10, Name: "last"}}
		}},
		{"addresses of nodes", "ip 10.0.0.9\nip 10.0.1.1 10.0.1.2\niprange 1000 10.0.3.254 10.0.4.1\nip fe80::1\nnode 0 a", func(c *Config) {
			c.Nodes = []NodeConfig{
				{ID: 0, Name: "a", Addr: "10.0.0.9"},
				{ID: 1, Addr: "10.0.1.1"},
				{ID: 2, Addr: "10.0.1.2"},
				{ID: 1000, Addr: "10.0.3.254"},
				{ID: 1001, Addr: "10.0.3.255"},
				{ID: 1002, Addr: "10.0.4.0"},
				{ID: 1003, Addr: "10.0.4.1"},
				{ID: 1004, Addr: "fe80::1"},
			}
			c.next = 1005
		}},
		{"words of the original", "pingtimeout 90\nnodes 64\nmaster 10.0.0.1\n", func(c *Config) {
			c.Lease, c.Numbers.Nodes, c.Listen = 90*time.Second, 64, "10.0.0.1:2223"
		}},
		{"ports", "master fe80::1\nbprocport 99", func(c *Config) { c.Listen = "[fe80::1]:99" }},
		{"rights", "mode 0750\nowner root\ngroup 17", func(c *Config) { c.Mode, c.UID, c.GID = 0o110, 0, 17 }},
		{"no set-up", "setup none", func(c *Config) { c.SetUp = "" }},
		{"nodes", "\tnode 0   a\r\nnode 1048576 b\n", func(c *Config) {
			c.Nodes = []NodeConfig{{ID: 0, Name: "a"}, {ID: 1 << 20, Name: "b"}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := DefaultConfig(), DefaultConfig()
			test.want(&want)
			if err := got.Read(strings.NewReader(test.text), "f"); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"lesae 5", `f:1: unknown directive "lesae"; is lease meant?`},
		{"bogosity 5", `f:1: unknown directive "bogosity"; bpmaster(8) has them all`},
		{"listen 2223", `f:1: listen: "2223" is not [HOST]:PORT, such as :2223`},
		{"listen 10.0.0.1", `f:1: listen: "10.0.0.1" is not [HOST]:PORT, such as :2223`},
		{"listen :99999", `f:1: listen: ":99999" is not [HOST]:PORT, such as :2223`},
		{"master front:x", `f:1: master: "front:x" is not [HOST]:PORT, such as :2223`},
		{"socket master.sock", `f:1: socket: "master.sock" is not a path that begins with a slash`},
		{"\n\nlease", `f:3: lease: its form is "lease SECONDS"`},
		{"listen a b", `f:1: listen: its form is "listen ADDRESS"`},
		{"node 1", `f:1: node: its form is "node NUMBER NAME | FIRST-LAST NAME%n"`},
		{"lease 0", `f:1: lease: "0" is not a time from 1 to 86400 seconds, such as 90 or 5m`},
		{"lease 86401", `f:1: lease: "86401" is not a time from 1 to 86400 seconds, such as 90 or 5m`},
		{"lease 25h", `f:1: lease: "25h" is not a time from 1 to 86400 seconds, such as 90 or 5m`},
		{"lease soon", `f:1: lease: "soon" is not a time from 1 to 86400 seconds, such as 90 or 5m`},
		{"certificate 1s", `f:1: certificate: "1s" is not a time from 5s to 876000h0m0s, such as 8760h`},
		{"certificate 365", `f:1: certificate: "365" is not a time from 5s to 876000h0m0s, such as 8760h`},
		{"ghosts ghosts", `f:1: ghosts: "ghosts" is not the path of a control group, which begins with a slash`},
		{"ghosts /../x", `f:1: ghosts: "/../x" is not the path of a control group, which begins with a slash`},
		{"ghosts /", `f:1: ghosts: "/" is not the path of a control group, which begins with a slash`},
		{"expected-nodes 5000", `f:1: expected-nodes: "5000" is not a number from 1 to 4096`},
		{"process-numbers 3071", `f:1: process-numbers: "3071" is not a number from 3072 to 3145728`},
		{"process-numbers 3072\nexpected-nodes 5", `f: too few process numbers: 3072 for 5 nodes, which need 6144 at least`},
		{"node -1 a", `f:1: node: "-1" is not a number from 0 to 1048576`},
		{"node 1 a\nnode 1 b", "f:2: node: node 1 b: number, name or address is given twice"},
		{"node 1 a\nnode 2 a", "f:2: node: node 2 a: number, name or address is given twice"},
		{"setup node_up", `f:1: setup: "node_up" is not a path that begins with a slash`},
		{"logs log", `f:1: logs: "log" is not a path that begins with a slash`},
		{"node 2 n5", "f:1: node: node 2 cannot be called n5: commands take that for something else"},
		{"node 4 all", "f:1: node: node 4 cannot be called all: commands take that for something else"},
		{"node 1-3 rack", `f:1: node: "rack" is one name for many nodes: it needs %n, which becomes the number`},
		{"node 3-1 n%n", `f:1: node: "1" is not a number from 3 to 4098`},
		{"node 1- n%n", `f:1: node: "" is not a number from 1 to 4096`},
		{"node 5 00:11:22:33:44:55", `f:1: node: "00:11:22:33:44:55" is not the name of a node`},
		{"node 1 n1\nnode 0-3 n%n", "f:2: node: node 1 n1: number, name or address is given twice"},
		{"ip 3", "f:1: ip: an address is missing"},
		{"ip n3", `f:1: ip: "n3" is not an address`},
		{"ip 1048577 10.0.0.1", `f:1: ip: "1048577" is not a number from 0 to 1048576`},
		{"ip 1048576 10.0.0.1 10.0.0.2", `f:1: ip: node numbers end at 1048576`},
		{"ip 1 10.0.0.1\nip 2 10.0.0.1", "f:2: ip: node 2 10.0.0.1: number, name or address is given twice"},
		{"iprange 10.0.0.2 10.0.0.1", "f:1: iprange: 10.0.0.1 does not come after 10.0.0.2"},
		{"iprange 10.0.0.2 fe80::1", "f:1: iprange: fe80::1 does not come after 10.0.0.2"},
		{"iprange 10.0.0.2", `f:1: iprange: its form is "iprange [NUMBER] FIRST LAST"`},
		{"iprange 1 10.0.0.2", `f:1: iprange: an address is missing`},
		{"iprange 10.0.0.0 10.1.0.0", `f:1: iprange: there are more than 4096 addresses from 10.0.0.0 to 10.1.0.0`},
		{"mode 8", `f:1: mode: "8" is no mode: it is octal, such as 111`},
		{"owner no/user", `f:1: owner: no such user: no/user`},
		{"group no/group", `f:1: group: no such group: no/group`},
		{"master", `f:1: master: its form is "master HOST[:PORT]"`},
		{"master a/b", `f:1: master: "a/b" is not HOST or HOST:PORT`},
		{"bprocport 0", `f:1: bprocport: "0" is not a number from 1 to 65535`},
		{"allowinsecureports", "f:1: allowinsecureports is of the original BProc and has no meaning here: remove it; nodes have certificates"},
		{"slave timesync no", "f:1: slave is of the original BProc and has no meaning here: remove it; see bpslave(8)"},
		{"setups 0", `f:1: setups: "0" is not a number from 1 to 1000`},
		{"power-on", `f:1: power-on: its form is "power-on COMMAND [ARGUMENT...]"`},
		{"lease x\nlease 5\nblcok 1", "f:1: lease: \"x\" is not a time from 1 to 86400 seconds, such as 90 or 5m\nf:3: unknown directive \"blcok\"; is block meant?"},
		{"lease 5\n" + strings.Repeat("x", 1<<17), "f:2: bufio.Scanner: token too long"},
	} {
		c := DefaultConfig()
		if err := c.Read(strings.NewReader(test.text), "f"); err == nil || err.Error() != test.want {
			t.Errorf("%.20q: got %v, want %s", test.text, err, test.want)
		}
	}
}

// TestManyFaults reads a file that is no configuration: not all of its faults are reported, and
// none in full.
func TestManyFaults(t *testing.T) {
	cfg := DefaultConfig()
	err := cfg.Read(strings.NewReader(strings.Repeat(strings.Repeat("é", 20_000)+"\n", 1000)), "f")
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != maxFaults+1 || lines[maxFaults] != "f: 980 lines more are wrong" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if first := lines[0]; !strings.HasPrefix(first, `f:1: unknown directive "éé`) || !strings.HasSuffix(first, "é...") || len(first) > maxFault+20 {
		t.Errorf("the first is %q", first)
	}
}

func TestConfigFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.conf")
	c := DefaultConfig()
	if err := c.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("lease x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := path + `:1: lease: "x" is not a time from 1 to 86400 seconds, such as 90 or 5m`
	if err := c.ReadFile(path); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := c.ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a directory is read")
	}
}

// FuzzConfig checks that every accepted configuration is within the bounds that the master relies
// on.
func FuzzConfig(f *testing.F) {
	f.Add("listen :1\nsocket s\nnode 0 a # x\nnode 1 b\nlease 30\nblock 1024\nexpected-nodes 9\n")
	f.Add("node 1048577 a")
	f.Add("node 5-9 n%n\nip 7 10.0.0.1\niprange 10.0.0.9 10.0.0.12\nmode 100\nmaster h")
	f.Add("lease 9999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		c := DefaultConfig()
		if c.Read(strings.NewReader(text), "f") != nil {
			return
		}
		if c.Lease < time.Second || c.Lease > 24*time.Hour || c.Numbers.Check() != nil {
			t.Errorf("lease %v, numbers %+v", c.Lease, c.Numbers)
		}
		if c.Listen == "" || c.Socket == "" {
			t.Error("an address is empty")
		}
		ids, names := map[wire.NodeID]bool{}, map[string]bool{}
		for _, n := range c.Nodes {
			if n.ID < 0 || n.ID > maxNode || n.Name+n.Addr == "" || ids[n.ID] || n.Name != "" && names[n.Name] {
				t.Errorf("node %+v of %+v", n, c.Nodes)
			}
			ids[n.ID], names[n.Name] = true, true
		}
	})
}

// TestSampleConfig checks the directives that the package's configuration has as comments.
func TestSampleConfig(t *testing.T) {
	text, err := os.ReadFile("../packaging/etc/config")
	if err != nil {
		t.Fatal(err)
	}
	c, directives := DefaultConfig(), regexp.MustCompile(`(?m)^#(\w)`).ReplaceAllString(string(text), "$1")
	if err := c.Read(strings.NewReader(directives), "config"); err != nil {
		t.Error(err)
	}
	if len(c.Nodes) != 65 || len(c.PowerOn) == 0 {
		t.Errorf("got %+v", c)
	}
}

func TestCheckPrograms(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "x")
	if err := os.WriteFile(script, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"setup none\npower-on sh %n": "",
		"setup /no/script":           "setup: stat /no/script: no such file or directory",
		"setup " + script:            "setup: " + script + " is not an executable file: make it one with 'chmod +x'",
		"setup " + dir:               "setup: " + dir + " is not an executable file: make it one with 'chmod +x'",
		"setup none\npower-on /no/x": "power-on: exec: \"/no/x\": stat /no/x: no such file or directory",
	} {
		c := DefaultConfig()
		if err := c.Read(strings.NewReader(text), "f"); err != nil {
			t.Fatal(err)
		}
		if err := c.CheckPrograms(); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

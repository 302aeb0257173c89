package master

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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
		{"a control group", "ghosts /bproc-ghosts.slice/ghosts", func(c *Config) { c.Ghosts = "/bproc-ghosts.slice/ghosts" }},
		{"no newline at the end", "block 1024", func(c *Config) { c.BlockSize = 1024 }},
		{"addresses", "listen 10.0.0.1:99\nsocket /tmp/s\n", func(c *Config) { c.Listen, c.Socket = "10.0.0.1:99", "/tmp/s" }},
		{"certificate", "certificate 90m\n", func(c *Config) { c.Certificate = 90 * time.Minute }},
		{"the last one counts", "lease 86400\nlease 1\n", func(c *Config) { c.Lease = time.Second }},
		{"nodes", "\tnode 0   a\r\nnode 1048576 b\n", func(c *Config) {
			c.Nodes = []NodeConfig{{ID: 0, Name: "a"}, {ID: 1 << 20, Name: "b"}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := DefaultConfig(), DefaultConfig()
			test.want(&want)
			if err := got.Read(strings.NewReader(test.text)); err != nil {
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
		{"lesae 5", "line 1: lesae: unknown directive"},
		{"\n\nlease", "line 3: lease: 1 operands, not 0, are expected"},
		{"listen a b", "line 1: listen: 1 operands, not 2, are expected"},
		{"node 1", "line 1: node: 2 operands, not 1, are expected"},
		{"lease 0", `line 1: lease: "0" is not a number from 1 to 86400`},
		{"lease 86401", `line 1: lease: "86401" is not a number from 1 to 86400`},
		{"certificate 1s", `line 1: certificate: "1s" is not a time from 5s to 876000h0m0s, such as 8760h`},
		{"certificate 365", `line 1: certificate: "365" is not a time from 5s to 876000h0m0s, such as 8760h`},
		{"lease 5s", `line 1: lease: "5s" is not a number from 1 to 86400`},
		{"ghosts ghosts", `line 1: ghosts: "ghosts" is not the path of a control group, which begins with a slash`},
		{"ghosts /../x", `line 1: ghosts: "/../x" is not the path of a control group, which begins with a slash`},
		{"ghosts /", `line 1: ghosts: "/" is not the path of a control group, which begins with a slash`},
		{"block 1023", `line 1: block: "1023" is not a number from 1024 to 262144`},
		{"node -1 a", `line 1: node: "-1" is not a number from 0 to 1048576`},
		{"node 1 a\nnode 1 b", "line 2: node: node 1 b: number or name is given twice"},
		{"node 1 a\nnode 2 a", "line 2: node: node 2 a: number or name is given twice"},
		{strings.Repeat("x", 1<<17), "bufio.Scanner: token too long"},
	} {
		c := DefaultConfig()
		if err := c.Read(strings.NewReader(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%.20q: got %v, want %s", test.text, err, test.want)
		}
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
	want := "configuration " + path + `: line 1: lease: "x" is not a number from 1 to 86400`
	if err := c.ReadFile(path); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := c.ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a directory is read")
	}
}

// FuzzConfig checks that whatever is accepted is within the bounds that the
// master relies on.
func FuzzConfig(f *testing.F) {
	f.Add("listen :1\nsocket s\nnode 0 a # x\nnode 1 b\nlease 30\nblock 1024\n")
	f.Add("node 1048577 a")
	f.Add("lease 9999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		c := DefaultConfig()
		if c.Read(strings.NewReader(text)) != nil {
			return
		}
		if c.Lease < time.Second || c.Lease > 24*time.Hour || c.BlockSize != 0 && (c.BlockSize < 16 || c.BlockSize > 1<<18) {
			t.Errorf("lease %v, block %d", c.Lease, c.BlockSize)
		}
		if c.Listen == "" || c.Socket == "" {
			t.Error("an address is empty")
		}
		ids, names := map[wire.NodeID]bool{}, map[string]bool{}
		for _, n := range c.Nodes {
			if n.ID < 0 || n.ID > maxNode || n.Name == "" || ids[n.ID] || names[n.Name] {
				t.Errorf("node %+v of %+v", n, c.Nodes)
			}
			ids[n.ID], names[n.Name] = true, true
		}
	})
}

package bpctl_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpctl"
	"bproc/internal/fakemaster"
	"bproc/internal/hosts"
	"bproc/wire"
)

var update = flag.Bool("update", false, "rewrite testdata/forms.golden")

// forms are command lines, by their group in the golden file.
var forms = []struct {
	title string
	args  []string
}{
	{"states", []string{
		"-S 0 -s up", "-S 0,1 -s unavailable", "-S 0 -s by-bob", "-S up -s boot", "-S 0 -s down", "-S 0 -s error",
		"-S 0 -s upp", "-S 0 -s bot", "-S 0 -s Dwon", "-S 0 -s", "-S 9 -s up", "-S 2 -s up",
	}},
	{"owner, group and mode", []string{
		"-S 0 -m 111", "-S 0-1 -m 0755", "-S 0 -m 0", "-S 0 -u root -g root", "-S 0 -u 12 -g #7", "-S 0 --trust full",
		"-S 0 -m 8", "-S 0 -m", "-S 0 -m 1777", "-S 0 -u no/user", "-S 0 -g no/group", "-S 0 -u 4294967295", "-S 0 --trust half", "-M -m 0",
	}},
	{"power", []string{
		"-S 0 -R", "-S 0 -R --no-wait --timeout 5m", "-S 0,1 -H", "-S 1 -P", "-S 0-1 -RP", "-S 0 -s reboot", "-S 0 -s halt --no-wait", "-S all -R --no-wait", "-S 0,3 -R",
		"-S 3 -P", "-S 4 -R --timeout 1s", "-S 2 --poweron", "-S 2 --poweron --no-wait", "-S 0,2 --poweron", "-S 5 --poweron",
		"-S 0 -R --timeout 1ms", "-S 0 -R --timeout soon", "-S 0 -R=5", "-S 0 --poweron=no", "-M -R",
	}},
	{"drain", []string{
		"drain 0", "drain 0-1", "undrain 0", "drain --wait 0", "drain --wait --timeout 1s 1", "drain --timeout 5m 0", "drain", "drain 0 1", "undrain", "drain nosuch", "undrain 9", "drain --help", "undrain --help",
	}},
	{"tags", []string{
		"tag 0 gpu rack=4", "tag 0-1", "tag 0,1 old", "untag 0 rack", "untag 0-1 gpu old", "tag", "tag 9", "tag boot", "tag boot gpu", "tag nosuch gpu",
		"tag 9,0 gpu", "tag 0 g,u", "tag 0 ok rack=4;5", "tag 0 mem=4G", "tag 0 =4", "untag", "untag 0", "untag 0 rack=4", "untag boot gpu", "untag 9 gpu", "tag --help", "untag --help",
	}},
	{"names", []string{"hosts", "hosts --follow", "hosts --remove", "hosts -w /nonexistent/hosts --follow --remove", "hosts -w /nonexistent/hosts", "hosts -w /nonexistent/hosts --remove", "hosts n0", "hosts --help"}},
	{"tokens", []string{
		"enroll", "enroll --node 3 --ttl 10m", "enroll --name blue", "enroll --count 64 --ttl 24h", "enroll --list", "enroll --revoke 0123456789abcdef", "enroll --revoke none",
		"enroll 5", "enroll --count 0", "enroll --count many", "enroll --count 2 --node 3", "enroll --count 2 --name blue", "enroll --ttl 1ms", "enroll --ttl soon",
		"enroll --list --count 2", "enroll --list --revoke none", "enroll --revoke", "enroll --help",
	}},
	{"log", []string{"log 0", "log 0,1", "log -f 0", "log 9", "log", "log -f 0-1", "log boot", "log --help"}},
	{"others", []string{
		"", "-S 0", "-s up", "-S", "-M -S 0 -s up", "-S nosuch -s up", "-S boot -s up", "-S 1,,2 -s up", "-S 0 --stat up", "--bogus", "frobnicate", "drian 0", "-v", "revoke 0", "revoke boot", "reload", "reload now", "--help",
	}},
}

// cluster is a fake master that records its requests. Nodes 0 and 1 are up, 2 is down, 3 does not
// go down, 4 takes too long, 5 cannot be switched on.
type cluster struct {
	mu    sync.Mutex
	nodes []wire.Node
	next  map[wire.NodeID]wire.Node // takes effect when the table has been read twice
	looks int
	asked []string
}

func newCluster() *cluster {
	c := &cluster{next: map[wire.NodeID]wire.Node{}}
	for id := range wire.NodeID(6) {
		n := wire.Node{ID: id, Name: fmt.Sprint("n", id), State: "up", Boot: "A"}
		if id == 2 || id == 5 {
			n.State = "down"
		}
		if id < 2 {
			n.Procs, n.Labels = 1, []string{"gpu", fmt.Sprint("rack=", id)}
		}
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *cluster) serve(conn *fakemaster.Conn, m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *wire.ListNodes:
		conn.Send(&wire.NodeList{Nodes: slices.Clone(c.nodes)})
		if c.looks++; c.looks%2 == 0 {
			for id, n := range c.next {
				c.nodes[id] = n
			}
		}
	case *wire.AwaitNodes:
		conn.Send(&wire.NodesAre{Digest: m.After + 1})
	case *wire.SetNodes:
		set := new(wire.NodesSet)
		for _, node := range m.Nodes {
			if errno, text := c.setNode(node, m); errno != 0 {
				set.Failed = append(set.Failed, wire.NodeFailed{ID: node, Errno: uint32(errno), Text: text})
			}
		}
		conn.Send(set)
	case *wire.Enroll:
		c.asked = append(c.asked, fmt.Sprintf("token for node %d %q, %d machines, %d s", m.Node, m.Name, m.Count, m.Seconds))
		conn.Send(&wire.Token{Token: "TOKEN"})
	case *wire.ListTokens:
		at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.Local).Unix()
		conn.Send(&wire.TokenList{Tokens: []wire.JoinToken{
			{ID: "0123456789abcdef", Node: -1, Count: 64, Uses: 3, Nodes: []wire.NodeID{0, 1, 2}, Expires: at},
			{ID: "1123456789abcdef", Node: -1, Count: 2, Uses: 2, Nodes: []wire.NodeID{3, 4}, Expires: at},
			{ID: "2123456789abcdef", Node: 5, Count: 1, Expires: at},
			{ID: "3123456789abcdef", Node: 5, Name: "blue", Count: 1, Expires: at},
			{ID: "4123456789abcdef", Node: -1, Name: "blue", Count: 1, Expires: at},
		}})
	case *wire.RevokeToken:
		c.asked = append(c.asked, "revoke token "+m.ID)
		if m.ID == "none" {
			conn.Fail(wire.StageRequest, uint32(unix.ENOENT), "there is no such token that is still good", 0)
			return
		}
		conn.Send(new(wire.Done))
	case *wire.AwaitNames:
		conn.Send(&wire.Names{Node: -1, Addr: "10.1.0.1", Master: "10.1.0.1", Nodes: hosts.Pack(map[wire.NodeID]string{0: "10.1.0.2", 1: "10.1.0.3"}), Digest: 1})
	case *wire.PowerOn:
		c.asked = append(c.asked, fmt.Sprintf("%d power on", m.Node))
		switch m.Node {
		case 2:
			c.next[2] = wire.Node{ID: 2, State: "up", Boot: "B"}
			conn.Send(new(wire.Done))
		case 5:
			conn.Fail(wire.StageNode, uint32(unix.EIO), "it is not switched on: ipmitool: exit status 1; see 'bpctl log 5'", 0)
		default:
			conn.Fail(wire.StageNode, uint32(unix.EALREADY), "it is on: it is connected", 0)
		}
	case *wire.ReadLog:
		if m.Node > 5 {
			conn.Fail(wire.StageNode, uint32(unix.ENXIO), "", 0)
			return
		}
		conn.Send(&wire.LogText{Text: fmt.Appendf(nil, "node %d is set up\n", m.Node)})
		conn.Send(&wire.LogText{Text: []byte("done\n")})
		conn.Send(new(wire.Done))
	default:
		c.asked = append(c.asked, fmt.Sprintf("%T", m))
		switch m.(type) {
		case *wire.Reload:
			conn.Send(&wire.Reloaded{Changes: []string{"lease: 30s, was 1m0s"}})
		default:
			conn.Send(new(wire.Done))
		}
	}
}

func (c *cluster) setNode(node wire.NodeID, m *wire.SetNodes) (unix.Errno, string) {
	what := describe(node, m)
	c.asked = append(c.asked, what)
	switch {
	case node < 0:
		return unix.EPERM, "the front end has no owner, mode and state that could be changed"
	case node > 5:
		return unix.ENXIO, ""
	case m.State != nil && c.nodes[node].State == "down":
		return unix.EHOSTDOWN, ""
	}
	n := c.nodes[node]
	if m.State != nil && node != 4 {
		switch *m.State {
		case "reboot":
			n.State = "reboot"
			c.nodes[node], n.State, n.Boot = n, "up", "B"
		case "halt", "pwroff":
			n.State = "down"
		}
		if node == 3 {
			n.State, n.Boot, n.Reason = "error", "A", "poweroff: exit status 1: permission denied"
		}
	}
	if m.Drain != nil && node == 0 {
		n.Procs = 0
	}
	c.next[node] = n
	return 0, ""
}

// elapsed matches times, which depend on the machine.
var elapsed = regexp.MustCompile(`\d+:\d\d`)

// TestForms compares the requests, output and exit code of each form of bpctl with
// testdata/forms.golden.
func TestForms(t *testing.T) {
	var got strings.Builder
	for _, group := range forms {
		fmt.Fprintf(&got, "## %s\n", group.title)
		for _, line := range group.args {
			fake := newCluster()
			m := fakemaster.Start(t, fake.serve)
			code, out, bad := run(t, m.Client, strings.Fields(line)...)
			fmt.Fprintf(&got, "\n$ bpctl %s\n", line)
			if strings.Contains(line, "--poweron") {
				slices.Sort(fake.asked) // nodes are switched on concurrently
			}
			for _, asked := range fake.asked {
				fmt.Fprintf(&got, "> %s\n", asked)
			}
			got.WriteString(out + bad)
			if code != 0 {
				fmt.Fprintf(&got, "exit code %d\n", code)
			}
		}
		got.WriteString("\n")
	}
	const golden = "testdata/forms.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestDrainInError checks that a node in state error can be drained.
func TestDrainInError(t *testing.T) {
	fake := newCluster()
	fake.nodes[0].State = "error"
	m := fakemaster.Start(t, fake.serve)
	if code, out, bad := run(t, m.Client, "drain", "--wait", "0"); code != 0 || out+bad != "" {
		t.Errorf("exit code %d, %q, %q", code, out, bad)
	}
}

// TestProgress checks that a terminal shows the progress of nodes, and that the progress line is
// removed before other output.
func TestProgress(t *testing.T) {
	fake := newCluster()
	m := fakemaster.Start(t, fake.serve)
	var out, bad bytes.Buffer
	ctl := bpctl.Control{Client: &m.Client, Stdout: &out, Stderr: &bad, Shown: true}
	if code := ctl.Main(context.Background(), []string{"-S", "0,1,3", "-R"}); code != 1 || out.Len() != 0 {
		t.Errorf("exit code %d, %q", code, &out)
	}
	const want = "\r0 of 3 nodes have booted anew  M:SS\x1b[K\r\x1b[Kbpctl: node 3: it is in state error: poweroff: exit status 1: permission denied\n\r\x1b[K"
	if got := elapsed.ReplaceAllString(bad.String(), "M:SS"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

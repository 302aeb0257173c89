package bpctl_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpcheck"
	"bproc/cmd/internal/bpctl"
	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/internal/manpage"
	"bproc/wire"
)

func TestMain(m *testing.M) { fakemaster.Main(m) }

func run(t *testing.T, c client.Client, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	ctl := bpctl.Control{Client: &c, Stdout: &out, Stderr: &bad}
	code = ctl.Main(t.Context(), args)
	return code, out.String(), bad.String()
}

// log keeps the requests to a master, in order.
type log struct {
	mu   sync.Mutex
	list []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func describe(node wire.NodeID, m *wire.SetNodes) string {
	switch {
	case len(m.Set) > 0 || len(m.Remove) > 0:
		return fmt.Sprintf("%d tags +%v -%v", node, m.Set, m.Remove)
	case m.State != nil:
		return fmt.Sprintf("%d state %s", node, *m.State)
	case m.Mode != nil:
		return fmt.Sprintf("%d mode %o", node, *m.Mode)
	case m.Trust != nil:
		return fmt.Sprintf("%d trust %s", node, *m.Trust)
	case m.Drain != nil:
		return fmt.Sprintf("%d drain %t", node, *m.Drain)
	case m.UID != nil:
		return fmt.Sprintf("%d uid %d", node, *m.UID)
	}
	return fmt.Sprintf("%d gid %d", node, *m.GID)
}

func TestChanges(t *testing.T) {
	tests := []struct {
		args   string
		want   []string
		code   int
		stderr string
	}{
		{"-S 1 -s up", []string{"1 state up"}, 0, ""},
		{"-S 1,0 -m 0755 -s boot", []string{"1 mode 111", "0 mode 111", "1 state boot", "0 state boot"}, 0, ""},
		{"-S 1 -s a -s b", []string{"1 state a", "1 state b"}, 0, ""},
		{"-S up -u root -g 7", []string{"0 uid 0", "1 uid 0", "0 gid 7", "1 gid 7"}, 0, ""},
		{"-M -f -m 1", []string{"-1 mode 1"}, 0, ""},
		{"-S 1,0 --trust full -s up --trust limited", []string{"1 trust full", "0 trust full", "1 state up", "0 state up", "1 trust limited", "0 trust limited"}, 0, ""},
		{"-S 1 --trust half", nil, 1, "bpctl: option --trust: \"half\" is neither full nor limited\n"},
		{"-S 9,1 -s up", []string{"9 state up", "1 state up"}, 1, "bpctl: node 9: operation not permitted\n"},
		{"-S 1", nil, 1, "bpctl: nothing to do: one of -s, -m, -u, -g, -R, -H, -P, --trust and --poweron is needed\n"},
		{"-s up", nil, 1, "bpctl: one of -S and -M is needed; --help says how\n"},
		{"-M -S 1 -s up", nil, 1, "bpctl: one of -S and -M is needed; --help says how\n"},
		{"-S 1 -m 9", nil, 1, "bpctl: option -m, --mode: 9 is no mode: it is octal, such as 111\n"},
		{"-S 1 -u no/user", nil, 1, "bpctl: option -u, --user: no such user: no/user\n"},
		{"-S 1 -g 4294967295", nil, 1, "bpctl: option -g, --group: no such group: 4294967295\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var asked log
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				switch m := m.(type) {
				case *wire.ListNodes:
					c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 0, State: "up"}, {ID: 1, State: "up"}, {ID: 2, State: "down"}}})
				case *wire.SetNodes:
					set := new(wire.NodesSet)
					for _, node := range m.Nodes {
						asked.add(describe(node, m))
						if node == 9 {
							set.Failed = append(set.Failed, wire.NodeFailed{ID: node, Errno: uint32(unix.EPERM)})
						}
					}
					c.Send(set)
				}
			})
			code, out, bad := run(t, m.Client, strings.Fields(tt.args)...)
			if code != tt.code || out != "" || bad != tt.stderr {
				t.Errorf("got %d, %q, %q; want %d, %q", code, out, bad, tt.code, tt.stderr)
			}
			if !slices.Equal(asked.list, tt.want) {
				t.Errorf("got %q, want %q", asked.list, tt.want)
			}
		})
	}
}

func TestEnroll(t *testing.T) {
	tests := []struct {
		args   []string
		want   wire.Enroll
		code   int
		stdout string
		stderr string
	}{
		{nil, wire.Enroll{Version: wire.Version, Node: -1, Seconds: 3600, Count: 1}, 0, "TOKEN\n", ""},
		{[]string{"--node", "3", "--name", "n", "--ttl", "90s"}, wire.Enroll{Version: wire.Version, Node: 3, Name: "n", Seconds: 90, Count: 1}, 0, "TOKEN\n", ""},
		{[]string{"--node", "13"}, wire.Enroll{Version: wire.Version, Node: 13, Seconds: 3600, Count: 1}, 1, "", "bpctl: only root may enrol nodes\n"},
		{[]string{"--revoke", ""}, wire.Enroll{}, 1, "", "bpctl: option --revoke: its value is empty\n"},
		{[]string{"--node", "x"}, wire.Enroll{}, 1, "", "bpctl: option --node: \"x\" is not a whole number in its range\n"},
		{[]string{"--ttl", "1ms"}, wire.Enroll{}, 1, "", "bpctl: --ttl 1ms: at least one second is needed\n"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			asked := make(chan wire.Enroll, 1)
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				e := m.(*wire.Enroll)
				asked <- *e
				if e.Node == 13 {
					c.Fail(wire.StageRequest, uint32(unix.EPERM), "only root may enrol nodes", 0)
					return
				}
				c.Send(&wire.Token{Token: "TOKEN", Expires: time.Now().Unix()})
			})
			code, out, bad := run(t, m.Client, append([]string{"enroll"}, tt.args...)...)
			if code != tt.code || out != tt.stdout || bad != tt.stderr {
				t.Errorf("got %d, %q, %q", code, out, bad)
			}
			var got wire.Enroll
			select {
			case got = <-asked:
			default:
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	for _, tt := range []struct {
		args   string
		want   []string
		code   int
		stderr string
	}{
		{"revoke 1", []string{"1"}, 0, ""},
		{"revoke up", []string{"0", "1"}, 0, ""},
		{"revoke 9,1", []string{"9", "1"}, 1, "bpctl: node 9: it has no identity\n"},
		{"revoke", nil, 1, "bpctl: no nodes given\n"},
		{"revoke 1 2", nil, 1, "bpctl: operand \"2\" is one too many\n"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var asked log
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				switch m := m.(type) {
				case *wire.ListNodes:
					c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 0, State: "up"}, {ID: 1, State: "up"}, {ID: 2, State: "down"}}})
				case *wire.Revoke:
					asked.add(fmt.Sprint(m.Node))
					if m.Node == 9 {
						c.Fail(wire.StageNode, uint32(unix.ENOENT), "it has no identity", 0)
						return
					}
					c.Send(new(wire.Done))
				}
			})
			code, out, bad := run(t, m.Client, strings.Fields(tt.args)...)
			if code != tt.code || out != "" || bad != tt.stderr {
				t.Errorf("got %d, %q, %q; want %d, %q", code, out, bad, tt.code, tt.stderr)
			}
			if !slices.Equal(asked.list, tt.want) {
				t.Errorf("got %q, want %q", asked.list, tt.want)
			}
		})
	}
}

func TestManPage(t *testing.T) {
	_, help, _ := run(t, client.Client{}, "--help")
	all := []string{help, checkHelp(t)}
	for _, sub := range []string{"enroll", "drain", "log", "hosts"} {
		_, help, _ := run(t, client.Client{}, sub, "--help")
		all = append(all, help)
	}
	manpage.CheckOptions(t, "../../../man/bpctl.8", all...)
}

// checkHelp returns the help of bpcheck, which "bpctl check" executes.
func checkHelp(t *testing.T) string {
	var out bytes.Buffer
	c := bpcheck.Command{Stdout: &out, Stderr: &out}
	if code := c.Main(t.Context(), []string{"--help"}); code != 0 {
		t.Fatalf("bpctl check --help: exit code %d", code)
	}
	return out.String()
}

func TestCheckWithoutProgram(t *testing.T) {
	var out, bad bytes.Buffer
	ctl := bpctl.Control{Checker: "/no/bpcheck", Stdout: &out, Stderr: &bad}
	code := ctl.Main(t.Context(), []string{"check", "--node", "front"})
	if want := "bpctl: execute /no/bpcheck: no such file or directory\n"; code != 1 || bad.String() != want {
		t.Errorf("got %d, %q; want 1, %q", code, bad.String(), want)
	}
}

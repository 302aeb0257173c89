package bpctl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/fakemaster"
	"bproc/wire"
)

func TestTag(t *testing.T) {
	for _, tt := range []struct {
		args   string
		want   []string
		code   int
		stdout string
		stderr string
	}{
		{"tag 1 gpu rack=4", []string{"1 +[gpu rack=4] -[]"}, 0, "", ""},
		{"tag up a", []string{"0 +[a] -[]", "1 +[a] -[]"}, 0, "", ""},
		{"tag tag:old&up a", []string{"1 +[a] -[]"}, 0, "", ""},
		{"untag 1,2 rack gpu", []string{"1 +[] -[rack gpu]", "2 +[] -[rack gpu]"}, 0, "", ""},
		{"tag 9,1 a", []string{"9 +[a] -[]", "1 +[a] -[]"}, 1, "", "bpctl: node 9: operation not permitted\n"},
		{"tag all", nil, 0, "0\n1 old rack=4\n2\n", ""},
		{"tag 7", nil, 1, "", "bpctl: node 7: no such node\n"},
		{"tag", nil, 1, "", "bpctl: no nodes given\n"},
		{"untag 1", nil, 1, "", "bpctl: no name of a tag given\n"},
		{"tag boot a", nil, 1, "", "bpctl: node specification \"boot\" matches no node\n"},
		{"tag 1 a=b,c", nil, 1, "", "bpctl: \"a=b,c\" is no tag and no attribute: a name has letters, digits, _ . -, and a value these and : / + @ %\n"},
		{"tag 1 ok mem=4G", nil, 1, "", "bpctl: mem is what nodes say of themselves, and cannot be set\n"},
		{"untag 1 a=b", nil, 1, "", "bpctl: \"a=b\" is no name of a tag or an attribute\n"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var asked log
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				switch m := m.(type) {
				case *wire.ListNodes:
					c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 0, State: "up"}, {ID: 1, State: "up", Labels: []string{"old", "rack=4"}}, {ID: 2, State: "down"}}})
				case *wire.SetNodes:
					set := new(wire.NodesSet)
					for _, node := range m.Nodes {
						asked.add(fmt.Sprintf("%d +%v -%v", node, m.Set, m.Remove))
						if node == 9 {
							set.Failed = append(set.Failed, wire.NodeFailed{ID: node, Errno: uint32(unix.EPERM)})
						}
					}
					c.Send(set)
				}
			})
			code, out, bad := run(t, m.Client, strings.Fields(tt.args)...)
			if code != tt.code || out != tt.stdout || bad != tt.stderr {
				t.Errorf("got %d, %q, %q; want %d, %q, %q", code, out, bad, tt.code, tt.stdout, tt.stderr)
			}
			if !slices.Equal(asked.list, tt.want) {
				t.Errorf("got %q, want %q", asked.list, tt.want)
			}
		})
	}
}

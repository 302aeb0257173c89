package hosts_test

import (
	"errors"
	"maps"
	"testing"

	"bproc/internal/hosts"
	"bproc/wire"
)

func heard(t *testing.T, m wire.Names, nodes map[wire.NodeID]string, before *hosts.Table) *hosts.Table {
	t.Helper()
	m.Nodes = hosts.Pack(nodes)
	table, err := hosts.Heard(&m, before)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const own = "127.0.0.1 localhost\n10.9.9.9 build n1 # another n0\n"

func TestJoin(t *testing.T) {
	nodes := map[wire.NodeID]string{0: "10.1.0.2", 1: "10.1.0.3", 10: "fd00::5"}
	node := heard(t, wire.Names{Node: 1, Addr: "10.1.0.3", Master: "10.1.0.1"}, nodes, nil)
	front := heard(t, wire.Names{Node: hosts.FrontEnd, Master: "10.1.0.1"}, nodes, nil)
	const ofNode = "# bproc: begin\n10.1.0.1\tmaster\n10.1.0.2\tn0 .0\n10.1.0.3\t.1 self\nfd00::5\tn10 .10\n# bproc: end\n"
	const ofFront = "# bproc: begin\n10.1.0.1\tmaster self\n10.1.0.2\tn0 .0\n10.1.0.3\tn1 .1\nfd00::5\tn10 .10\n# bproc: end\n"
	for _, c := range []struct {
		name, file string
		table      *hosts.Table
		want       string
	}{
		{"node", own, node, own + ofNode},
		{"front end", "", front, ofFront},
		{"no last newline", "1.2.3.4 x", front, "1.2.3.4 x\n" + ofFront},
		{"again", own + ofFront + "1.2.3.4 x\n", node, own + "1.2.3.4 x\n" + ofNode},
		{"twice", ofFront + own + ofFront, node, own + ofNode},
		{"taken away", own + ofFront + "1.2.3.4 x\n", nil, own + "1.2.3.4 x\n"},
		{"no end", "# bproc: begin\n" + own, node, own + ofNode},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(hosts.Join([]byte(c.file), c.table)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestPartial checks that names stay that a newly started master does not know yet.
func TestPartial(t *testing.T) {
	before := hosts.Read([]byte(own + "# bproc: begin\n10.1.0.1\tmaster\n10.1.0.2\tn0 .0\n10.1.0.3\t.1 self\n# bproc: end\n"))
	if before == nil || before.Self != 1 || before.Master != "10.1.0.1" {
		t.Fatalf("read %+v", before)
	}
	nodes := map[wire.NodeID]string{0: "10.1.0.9"}
	part := heard(t, wire.Names{Node: 1, Addr: "10.1.0.3", Master: "10.1.0.1", Partial: true}, nodes, before)
	if want := map[wire.NodeID]string{0: "10.1.0.9", 1: "10.1.0.3"}; !maps.Equal(part.Nodes, want) {
		t.Errorf("got %v, want %v", part.Nodes, want)
	}
	all := heard(t, wire.Names{Node: hosts.FrontEnd, Master: "10.1.0.1"}, nodes, part)
	if !maps.Equal(all.Nodes, nodes) {
		t.Errorf("got %v, want %v", all.Nodes, nodes)
	}
}

// TestBadNames checks that only addresses get into a file.
func TestBadNames(t *testing.T) {
	for _, m := range []wire.Names{
		{Master: "10.1.0.1", Nodes: []byte("no deflate")},
		{Master: "10.1.0.1", Nodes: hosts.Pack(map[wire.NodeID]string{0: "10.0.0.1 www"})},
		{Master: "10.1.0.1", Nodes: hosts.Pack(map[wire.NodeID]string{-1: "10.0.0.1"})},
		{Master: "evil", Nodes: hosts.Pack(nil)},
		{Master: "10.1.0.1", Addr: "x", Nodes: hosts.Pack(nil)},
	} {
		if _, err := hosts.Heard(&m, nil); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("%+v: got %v, want ErrFrame", m, err)
		}
	}
}

func FuzzJoin(f *testing.F) {
	f.Add([]byte(own))
	f.Add([]byte("# bproc: begin\n# bproc: begin\n# bproc: end\n# bproc: end"))
	table := &hosts.Table{Self: 0, Master: "10.1.0.1", Nodes: map[wire.NodeID]string{0: "10.1.0.2"}}
	f.Fuzz(func(t *testing.T, file []byte) {
		once := hosts.Join(file, table)
		if twice := hosts.Join(once, table); string(twice) != string(once) {
			t.Errorf("once\n%q\ntwice\n%q", once, twice)
		}
		hosts.Read(once)
	})
}

package master

import (
	"fmt"
	"maps"
	"testing"

	"bproc/internal/hosts"
	"bproc/wire"
)

// TestNamesSince has slaves that know older editions. After it was told, each must know the same as
// the others; one that knew the edition before is told only the changes.
func TestNamesSince(t *testing.T) {
	const many = 1000
	n := newNames()
	all := map[wire.NodeID]string{}
	update := func(partial bool) {
		var nodes []wire.Node
		for id, addr := range all {
			node := wire.Node{ID: id}
			if addr != "" {
				node.Addr = addr + ":1234"
			}
			nodes = append(nodes, node)
		}
		n.update(nodes, "10.0.0.1", partial)
	}
	for id := range wire.NodeID(many) {
		all[id] = fmt.Sprintf("10.1.%d.%d", id/250, id%250)
	}
	knows := map[string]*hosts.Table{"always": nil, "sometimes": nil}
	editions := map[string]uint64{}
	tell := func(slave string) (bytes int) {
		t.Helper()
		said, edition, news := n.since(editions[slave])
		if !news {
			return 0
		}
		said.Node, said.Addr = 0, all[0]
		table, err := hosts.Heard(&said, knows[slave])
		if err != nil {
			t.Fatal(err)
		}
		knows[slave], editions[slave] = table, edition
		return len(said.Nodes)
	}
	same := func(slave string) {
		t.Helper()
		if !maps.Equal(knows[slave].Nodes, all) {
			t.Errorf("%s knows %d nodes, not the %d that there are", slave, len(knows[slave].Nodes), len(all))
		}
	}
	for _, step := range []struct {
		name    string
		change  func()
		partial bool
		whole   bool // everything is told
		nothing bool
	}{
		{"nodes that the master before has known", func() {}, true, true, false},
		{"one has come", func() { all[many] = "10.2.0.1" }, true, false, false},
		{"all have come", func() {}, false, true, false},
		{"nothing", func() {}, false, false, true},
		{"one has moved", func() { all[3] = "10.2.0.3" }, false, false, false},
		{"two have come", func() { all[many+1], all[many+2] = "10.2.0.4", "10.2.0.5" }, false, false, false},
		{"one is gone", func() { delete(all, 7) }, false, true, false},
		{"one is gone and one has come", func() { delete(all, 8); all[many+3] = "10.2.0.6" }, false, true, false},
	} {
		step.change()
		update(step.partial)
		bytes := tell("always")
		if got := bytes > 100; got != step.whole || (bytes == 0) != step.nothing {
			t.Errorf("%s: %d bytes are told", step.name, bytes)
		}
		same("always")
		if step.name == "nothing" || step.name == "two have come" {
			tell("sometimes")
			same("sometimes")
		}
	}
	tell("sometimes")
	same("sometimes")
	if bytes := tell("new"); bytes == 0 {
		t.Error("who knows nothing is told nothing")
	}
	same("new")
}

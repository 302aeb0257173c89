package core

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// setMany changes nodes. It returns the failures that the client is told, and the numbers of writes
// and of records kept.
func (s *script) setMany(who Caller, m wire.SetNodes) (failed []wire.NodeFailed, keeps, records int) {
	s.Helper()
	s.sent = nil
	s.step(SetNodes{Who: who, Change: m})
	for _, o := range s.sent {
		switch o := o.(type) {
		case Keep:
			keeps, records = keeps+1, records+len(o.Records)
		case Reply:
			return o.Message.(*wire.NodesSet).Failed, keeps, records
		}
	}
	s.Fatal("no reply")
	return nil, 0, 0
}

// TestManyAreSet changes thousands of nodes in one step, which is kept at once. Failures are
// reported, and nothing changes that cannot be kept.
func TestManyAreSet(t *testing.T) {
	const nodes = 4000
	records := map[string][]byte{}
	m := wire.SetNodes{Nodes: []wire.NodeID{nodes + 7, wire.FrontEnd}}
	for id := range wire.NodeID(nodes) {
		records[fmt.Sprint(id)] = fmt.Appendf(nil, `{"ID":%d,"Key":"k%[1]d","Mode":73}`, id)
		m.Nodes = append(m.Nodes, id, id) // twice does the same as once
	}
	s := scriptWith(t, Config{Nodes: records})
	modes := func(want uint32) {
		t.Helper()
		for _, n := range s.core.nodes.sorted() {
			if n.Mode != want {
				t.Fatalf("node %d has mode %o, want %o", n.ID, n.Mode, want)
			}
		}
	}
	mode := uint32(0o110)
	m.Mode = &mode
	failed, keeps, kept := s.setMany(Caller{}, m)
	want := []unix.Errno{unix.ENXIO, unix.EPERM}
	if got := errnos(failed); !slices.Equal(got, want) || keeps != 1 || kept != nodes {
		t.Errorf("%v failed, want %v; %d records were kept in %d steps, want %d in 1", got, want, kept, keeps, nodes)
	}
	modes(mode)
	if failed, keeps, _ := s.setMany(Caller{}, m); len(failed) != 2 || keeps != 0 {
		t.Errorf("where nothing changes: %d failed, %d records for the store", len(failed), keeps)
	}
	other := uint32(0o100)
	m.Mode = &other
	if failed, _, _ := s.setMany(Caller{UID: 1000}, m); len(failed) != nodes+2 || failed[2].Errno != uint32(unix.EPERM) {
		t.Errorf("a user changed nodes: %d failed", len(failed))
	}
	s.kept[Nodes].err = unix.ENOSPC
	if failed, _, _ := s.setMany(Caller{}, m); len(failed) != nodes+2 || failed[2].Errno != uint32(unix.EIO) {
		t.Errorf("where nothing can be kept: %d failed", len(failed))
	}
	modes(mode)
}

func errnos(failed []wire.NodeFailed) (list []unix.Errno) {
	for _, f := range failed {
		list = append(list, unix.Errno(f.Errno))
	}
	return list
}

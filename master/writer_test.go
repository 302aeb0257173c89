package master

import (
	"testing"
	"time"

	"bproc/master/core"
	"bproc/test/limit"
	"bproc/wire"
)

// TestSlowDisk has the store take its time to keep a node's numbers. The master goes on meanwhile,
// and the node hears of the numbers when they are on disk.
func TestSlowDisk(t *testing.T) {
	m := newMade(t, 0, 1)
	blocks := m.state.tables[core.Blocks].(*memory)
	blocks.slow = make(chan struct{})
	c := m.connect(t, 0, nil)
	m.input(t, core.FromNode{Session: c.id, Message: &wire.BlocksWanted{Blocks: 1}})
	m.connect(t, 1, nil)
	numbers := func() (borrowed uint32) {
		m.state.look(func(c *core.Core) { borrowed = c.NumberList().Nodes[0].Borrowed })
		return borrowed
	}
	if numbers() == 0 {
		t.Error("no numbers are granted")
	}
	if kept, err := blocks.All(); err != nil || len(kept) > 0 {
		t.Errorf("got %q, %v", kept, err)
	}
	blocks.slow <- struct{}{}
	for deadline := time.Now().Add(limit.Scaled(10 * time.Second)); ; time.Sleep(time.Millisecond) {
		var waits string
		m.state.look(func(c *core.Core) { waits = c.String() })
		kept, err := blocks.All()
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %q, %v, and the core:\n%s", kept, err, waits)
		}
		if len(kept) == 1 {
			return
		}
	}
}

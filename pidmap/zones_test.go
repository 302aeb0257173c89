package pidmap_test

import (
	"errors"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

func block(first wire.PID, count int32) wire.Block { return wire.Block{First: first, Count: count} }

func TestValidate(t *testing.T) {
	const node, end = pidmap.Node, pidmap.Max
	for _, c := range []struct {
		name   string
		blocks []wire.Block
		ok     bool
	}{
		{"none", nil, true},
		{"whole zone", []wire.Block{block(node, int32(end-node))}, true},
		{"last number", []wire.Block{block(end-1, 1)}, true},
		{"neighbours, unsorted", []wire.Block{block(node+10, 10), block(node, 10)}, true},
		{"empty", []wire.Block{block(node, 0)}, false},
		{"negative count", []wire.Block{block(node+5, -1)}, false},
		{"local zone", []wire.Block{block(node-1, 1)}, false},
		{"negative", []wire.Block{block(-1, 10)}, false},
		{"behind the zone", []wire.Block{block(end, 1)}, false},
		{"over the end", []wire.Block{block(end-1, 2)}, false},
		{"count overflows", []wire.Block{block(node+1, 1<<31-1)}, false},
		{"overlap", []wire.Block{block(node, 10), block(node+9, 10)}, false},
		{"twice", []wire.Block{block(node, 10), block(node, 10)}, false},
		{"contained, unsorted", []wire.Block{block(node+3, 1), block(node, 10)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := pidmap.Validate(c.blocks)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, pidmap.ErrBlocks) {
				t.Errorf("Validate(%v) = %v, want ok %v", c.blocks, err, c.ok)
			}
		})
	}
}

// FuzzValidate checks that accepted blocks hold each number of the zone at most once.
func FuzzValidate(f *testing.F) {
	f.Add(int32(1<<20), int32(16), int32(1<<20+16), int32(16), int32(1<<20+100))
	f.Add(int32(1<<22-1), int32(1), int32(-1), int32(1<<31-1), int32(0))
	f.Fuzz(func(t *testing.T, f1, c1, f2, c2, p int32) {
		blocks := []wire.Block{block(wire.PID(f1), c1), block(wire.PID(f2), c2)}
		if pidmap.Validate(blocks) != nil {
			return
		}
		holders := 0
		for _, b := range blocks {
			if b.First < pidmap.Node || b.End() > pidmap.Max || b.End() <= b.First {
				t.Errorf("accepted %v", b)
			}
			for _, q := range []wire.PID{wire.PID(p), b.First, b.End() - 1} {
				if blocks[0].Contains(q) && blocks[1].Contains(q) {
					holders++
				}
			}
		}
		if holders > 0 {
			t.Errorf("accepted %v, which share numbers", blocks)
		}
	})
}

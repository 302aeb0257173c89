package pidmap_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

func newCursor(t *testing.T, blocks ...wire.Block) *pidmap.Cursor {
	t.Helper()
	c := pidmap.NewCursor()
	if err := c.Add(blocks); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCursorWithoutBlocks(t *testing.T) {
	c := pidmap.NewCursor()
	if m, ok := c.Place(); ok {
		t.Errorf("Place() = %v without blocks", m)
	}
	if m, ok := c.Passed(pidmap.Node); ok {
		t.Errorf("Passed() = %v without blocks", m)
	}
	if c.Wanted() != 1 {
		t.Errorf("Wanted() = %d, want 1", c.Wanted())
	}
}

func TestCursorGoesRound(t *testing.T) {
	const a, b, d = pidmap.Node, pidmap.Node + 32, pidmap.Node + 64
	c := newCursor(t, block(d, 16), block(a, 16), block(b, 16))
	want := []wire.PID{a, b, d, a, b}
	m, ok := c.Place()
	for i, first := range want {
		if !ok || m.Next != first || m.Low != first+4 {
			t.Fatalf("step %d: %v, %v, want next %d, low %d", i, m, ok, first, first+4)
		}
		m, ok = c.Passed(m.Low + wire.PID(i)) // the last ones from the gap
	}
}

func TestCursorNotices(t *testing.T) {
	const a, b = pidmap.Node, pidmap.Node + 32
	c := newCursor(t, block(a, 16), block(b, 16))
	c.Place()
	c.Passed(a + 8)
	for _, n := range []struct {
		name string
		pid  wire.PID
		next wire.PID // 0: nothing to be done
	}{
		{"asked for before the move", a + 9, 0},
		{"below the mark", b + 3, 0},
		{"second notice of one that was answered", b + 8, a},
		{"number of the block before", b + 12, a},
	} {
		m, ok := c.Passed(n.pid)
		if ok != (n.next != 0) || m.Next != n.next {
			t.Errorf("%s: Passed(%d) = %v, %v, want next %d", n.name, n.pid, m, ok, n.next)
		}
	}
}

func TestCursorSingleBlock(t *testing.T) {
	c := newCursor(t, block(pidmap.Node, 16))
	for live, low := range []wire.PID{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 14} {
		m, ok := c.Place()
		if !ok || m.Next != pidmap.Node || m.Low != pidmap.Node+low {
			t.Errorf("with %d live numbers: %v, %v, want low %d", live, m, ok, low)
		}
		c.Born(pidmap.Node + wire.PID(live))
	}
}

func TestCursorAvoidsFullBlocks(t *testing.T) {
	const a, b, d = pidmap.Node, pidmap.Node + 32, pidmap.Node + 64
	c := newCursor(t, block(a, 16), block(b, 16), block(d, 16))
	for i := range wire.PID(6) {
		c.Born(b + i)
	}
	c.Place()
	if m, _ := c.Passed(a + 8); m.Next != d {
		t.Errorf("moved to %d, want the empty block %d", m.Next, d)
	}
	for i := range wire.PID(10) {
		c.Born(a + i)
		c.Born(b + 20 + i) // of the gap
	}
	if m, _ := c.Passed(d + 8); m.Next != d {
		t.Errorf("moved to %d, want to stay in %d, the only one with room", m.Next, d)
	}
	for i := range wire.PID(10) {
		c.Died(a + i)
	}
	if m, _ := c.Passed(d + 8); m.Next != a {
		t.Errorf("moved to %d, want %d, which is empty again", m.Next, a)
	}
}

func TestCursorWanted(t *testing.T) {
	c := newCursor(t, block(pidmap.Node, 16), block(pidmap.Node+32, 16))
	c.Place()
	for i := range wire.PID(16) {
		c.Born(pidmap.Node + i)
	}
	if c.Wanted() != 0 {
		t.Errorf("Wanted() = %d with half of the numbers in use, want 0", c.Wanted())
	}
	c.Born(pidmap.Node + 16)
	if c.Wanted() != 1 {
		t.Errorf("Wanted() = %d with one more, want 1", c.Wanted())
	}
	c.Tasks(40)
	if c.Wanted() != 3 {
		t.Errorf("Wanted() = %d with 40 tasks, want 3", c.Wanted())
	}
	if err := c.Add([]wire.Block{block(pidmap.Node+8, 4)}); err == nil {
		t.Error("an overlapping block was accepted")
	}
	if err := c.Add([]wire.Block{block(pidmap.Node+64, 16), block(pidmap.Node+96, 16), block(pidmap.Node+128, 16)}); err != nil {
		t.Fatal(err)
	}
	if c.Wanted() != 0 || len(c.Blocks()) != 5 {
		t.Errorf("Wanted() = %d with %d blocks, want 0 with 5", c.Wanted(), len(c.Blocks()))
	}
}

func TestCursorOwns(t *testing.T) {
	c := newCursor(t, block(pidmap.Node, 16), block(pidmap.Node+64, 16))
	if _, _, ok := c.Current(); ok {
		t.Error("there is a current block before Place")
	}
	c.Place()
	if b, end, ok := c.Current(); !ok || b != block(pidmap.Node, 16) || end != pidmap.Node+32 {
		t.Errorf("Current() = %v, %d, %v, want the first block and its gap", b, end, ok)
	}
	for p, want := range map[wire.PID]bool{
		pidmap.Node - 1: false, pidmap.Node: true, pidmap.Node + 31: true, pidmap.Node + 32: false,
		pidmap.Node + 63: false, pidmap.Node + 64: true, pidmap.Node + 95: true, pidmap.Node + 96: false,
	} {
		if got := c.Owns(p); got != want {
			t.Errorf("Owns(%d) = %v, want %v", p, got, want)
		}
	}
}

// TestCursorAgainstKernel lets a model of the kernel's allocation fork and end
// processes at random, with a reaction that comes late, and checks that every
// number given is of the node's blocks or their gaps.
func TestCursorAgainstKernel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	alloc := pidmap.NewAllocator(pidmap.Config{BlockSize: 16})
	const me = 7
	c := pidmap.NewCursor()
	grant := func(n int) {
		blocks, err := alloc.Grant(me, n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := alloc.Grant(me+1, 1); err != nil { // a neighbour
			t.Fatal(err)
		}
		if err := c.Add(blocks); err != nil {
			t.Fatal(err)
		}
	}
	grant(2)
	move, _ := c.Place()
	next, low, late := move.Next, move.Low, 0
	inUse := map[wire.PID]bool{}
	var alive []wire.PID
	for step := range 100_000 {
		if len(alive) > 0 && rng.IntN(100) < 40+len(alive)/4 {
			i := rng.IntN(len(alive))
			delete(inUse, alive[i])
			c.Died(alive[i])
			alive[i] = alive[len(alive)-1]
			alive = alive[:len(alive)-1]
			continue
		}
		for inUse[next] {
			next++
		}
		pid := next
		next++
		inUse[pid] = true
		alive = append(alive, pid)
		c.Born(pid)
		if node, ok := alloc.Owner(pid); !ok || node != me {
			t.Fatalf("step %d: number %d is given, which is node %v's (%v)", step, pid, node, ok)
		}
		if n := c.Wanted(); n > 0 {
			grant(n)
		}
		if pid < low {
			continue
		}
		if late++; late < rng.IntN(8) {
			continue // the notice is on its way
		}
		if m, ok := c.Passed(pid); ok {
			next, low, late = m.Next, m.Low, 0
		}
	}
}

func TestCursorSpares(t *testing.T) {
	const a, b, d = pidmap.Node, pidmap.Node + 32, pidmap.Node + 64
	c := newCursor(t, block(a, 16), block(b, 16), block(d, 16))
	c.Place()
	for _, n := range []struct {
		name   string
		change func()
		want   []wire.Block
	}{
		{"nobody", func() {}, []wire.Block{block(d, 16)}},
		{"few", func() {
			for n := range wire.PID(8) {
				c.Born(a + n)
			}
		}, []wire.Block{block(d, 16)}},
		{"a quarter of what would be left", func() { c.Born(a + 8) }, nil},
		{"few threads", func() { c.Died(a + 8); c.Tasks(8) }, []wire.Block{block(d, 16)}},
		{"many threads", func() { c.Tasks(9) }, nil},
		{"the last block is in use", func() { c.Tasks(0); c.Born(d); c.Died(a) }, []wire.Block{block(b, 16)}},
		{"the cursor stands in the other", func() { c.Passed(a + 8) }, nil},
	} {
		n.change()
		if got := c.Spare(2); !slices.Equal(got, n.want) {
			t.Errorf("%s: Spare() = %v, want %v", n.name, got, n.want)
		}
	}
	if got := c.Spare(3); got != nil {
		t.Errorf("Spare(3) = %v of three", got)
	}
}

// A block that was dropped is not gone to any more.
func TestCursorDrops(t *testing.T) {
	const a, b, d = pidmap.Node, pidmap.Node + 32, pidmap.Node + 64
	c := newCursor(t, block(a, 16), block(b, 16), block(d, 16))
	c.Place()
	c.Passed(a + 8)
	c.Drop(block(a, 16)) // below the one where the cursor stands
	if m, ok := c.Passed(b + 8); !ok || m.Next != d {
		t.Errorf("Passed() = %v, %v, want the third block", m, ok)
	}
	if m, ok := c.Passed(d + 8); !ok || m.Next != b {
		t.Errorf("Passed() = %v, %v, want the second block again", m, ok)
	}
	c.Drop(block(a, 16)) // once more
	if got := c.Blocks(); len(got) != 2 {
		t.Errorf("Blocks() = %v, want two", got)
	}
}

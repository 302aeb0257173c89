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
	c := pidmap.NewCursor(wire.Block{})
	if err := c.Add(blocks); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCursorWithoutBlocks(t *testing.T) {
	c := pidmap.NewCursor(wire.Block{})
	if m, ok := c.Place(); ok {
		t.Errorf("Place() = %v without blocks", m)
	}
	if m, ok := c.Passed(pidmap.Node); ok {
		t.Errorf("Passed() = %v without blocks", m)
	}
	if !c.Wanted() {
		t.Error("more are not wanted")
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
		next wire.PID // 0: nothing to do
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

// In its only block the cursor goes to the last quarter, with notices on the way, and back; if many
// numbers are live, not before there are free ones among those that are passed.
func TestCursorSingleBlock(t *testing.T) {
	for _, n := range []struct {
		live  int
		marks []wire.PID
	}{
		{0, []wire.PID{4, 8, 12}},
		{3, []wire.PID{7, 11, 12}},
		{8, []wire.PID{12}},
		{12, []wire.PID{14}},
		{16, []wire.PID{14}},
	} {
		c := newCursor(t, block(pidmap.Node, 16))
		for i := range n.live {
			c.Born(pidmap.Node + wire.PID(i))
		}
		m, ok := c.Place()
		for i, mark := range n.marks {
			if next := m.Next != 0; !ok || next != (i == 0) || m.Low != pidmap.Node+mark {
				t.Errorf("with %d live numbers: step %d: %v, %v, want low %d", n.live, i, m, ok, mark)
			}
			m, ok = c.Passed(m.Low)
		}
		if !ok || m.Next != pidmap.Node || m.Low != pidmap.Node+n.marks[0] {
			t.Errorf("with %d live numbers: in the end %v, %v, want to begin anew", n.live, m, ok)
		}
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
	for _, n := range []struct {
		name  string
		count int32
		most  int
	}{
		{"few numbers", 384, 96},
		{"many", 6144, 3072},
	} {
		c := newCursor(t, block(pidmap.Node, n.count))
		for i := range wire.PID(n.most) {
			c.Born(pidmap.Node + i)
		}
		if c.Wanted() {
			t.Errorf("%s: more are wanted with %d of %d in use", n.name, n.most, n.count)
		}
		c.Tasks(n.most + 1)
		if !c.Wanted() {
			t.Errorf("%s: none are wanted with %d tasks of %d numbers", n.name, n.most+1, n.count)
		}
		if err := c.Add([]wire.Block{block(pidmap.Node+8, 4)}); err == nil {
			t.Errorf("%s: an overlapping block was accepted", n.name)
		}
		if err := c.Add([]wire.Block{block(pidmap.Node+1<<15, n.count)}); err != nil {
			t.Fatal(err)
		}
		if c.Wanted() || c.Numbers() != int(2*n.count) {
			t.Errorf("%s: more are wanted with %d numbers", n.name, c.Numbers())
		}
	}
}

func TestCursorOwns(t *testing.T) {
	c := newCursor(t, block(pidmap.Node, 16), block(pidmap.Node+64, 16))
	if _, _, ok := c.Current(); ok {
		t.Error("there is a current block before Place")
	}
	c.Place()
	if b, end, ok := c.Current(); !ok || b != block(pidmap.Node, 16) || end != pidmap.Node+21 {
		t.Errorf("Current() = %v, %d, %v, want the first block and its gap", b, end, ok)
	}
	for p, want := range map[wire.PID]bool{
		pidmap.Node - 1: false, pidmap.Node: true, pidmap.Node + 20: true, pidmap.Node + 21: false,
		pidmap.Node + 63: false, pidmap.Node + 64: true, pidmap.Node + 84: true, pidmap.Node + 85: false,
	} {
		if got := c.Owns(p); got != want {
			t.Errorf("Owns(%d) = %v, want %v", p, got, want)
		}
	}
}

// TestCursorAgainstKernel has a model of the kernel's allocation fork and end processes at random,
// and moves the cursor late. It checks that every number that is given is in the node's blocks or
// their gaps.
func TestCursorAgainstKernel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	alloc := pidmap.NewAllocator(smallest)
	const me = 7
	c := pidmap.NewCursor(alloc.NewHome(me))
	grant := func() {
		b, err := alloc.Grant(me)
		if err != nil {
			return // the node has as many as it can have
		}
		if err := c.Add([]wire.Block{b}); err != nil {
			t.Fatal(err)
		}
	}
	grant()
	alloc.NewHome(me + 1) // a neighbour
	mustGrant(t, alloc, me+1)
	move, _ := c.Place()
	next, low, late := move.Next, move.Low, 0
	inUse := map[wire.PID]bool{}
	var alive []wire.PID
	for step := range 100_000 {
		if len(alive) > 0 && rng.IntN(100) < 30+len(alive)/8 || len(alive) >= c.Numbers()*7/8 {
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
		if c.Wanted() {
			grant()
		}
		if pid < low {
			continue
		}
		if late++; late < rng.IntN(100) {
			continue // the notice is on its way
		}
		if m, ok := c.Passed(pid); ok {
			low, late = m.Low, 0
			if m.Next != 0 {
				next = m.Next
			}
		}
	}
}

func TestCursorSpares(t *testing.T) {
	const a, b, d, home = pidmap.Node, pidmap.Node + 1<<14, pidmap.Node + 2<<14, pidmap.Node + 3<<14
	at := wire.Block{First: home, Count: 8192}
	c := pidmap.NewCursor(at)
	if err := c.Add([]wire.Block{block(a, 6144), block(b, 6144), block(d, 6144), block(home, 6144)}); err != nil {
		t.Fatal(err)
	}
	c.Place()
	for _, n := range []struct {
		name   string
		change func()
		want   []wire.Block
	}{
		{"nobody", func() {}, []wire.Block{block(d, 6144), block(b, 6144)}},
		{"a quarter of what would be left", func() { c.Tasks(4608) }, []wire.Block{block(d, 6144)}},
		{"a quarter of what is left with one fewer", func() { c.Tasks(4609) }, nil},
		{"one is in use", func() { c.Tasks(0); c.Born(d) }, []wire.Block{block(b, 6144)}},
		{"the cursor stands in the other", func() { c.Died(d); c.Passed(a + 3072) }, []wire.Block{block(d, 6144), block(a, 6144)}},
	} {
		n.change()
		if got := c.Spare(); !slices.Equal(got, n.want) {
			t.Errorf("%s: Spare() = %v, want %v", n.name, got, n.want)
		}
	}
	small := newCursor(t, block(a, 384), block(b, 384))
	small.Place()
	small.Tasks(49) // twice as many would be more than a quarter
	if got := small.Spare(); got != nil {
		t.Errorf("Spare() = %v of few", got)
	}
	small.Tasks(48)
	if got := small.Spare(); len(got) != 1 {
		t.Errorf("Spare() = %v of few that are not in use, want one", got)
	}
}

// The cursor does not go to a block that was dropped.
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

// The refuge is the emptiest other block, or the only one.
func TestCursorRefuge(t *testing.T) {
	c := pidmap.NewCursor(wire.Block{})
	if got := c.Refuge(); got != (wire.Block{}) {
		t.Errorf("got %v without blocks", got)
	}
	add := func(firsts ...wire.PID) {
		t.Helper()
		for _, first := range firsts {
			if err := c.Add([]wire.Block{{First: first, Count: 100}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(when string, want wire.PID) {
		t.Helper()
		if got := c.Refuge().First; got != want {
			t.Errorf("%s: got %d, want %d", when, got, want)
		}
	}
	add(pidmap.Node)
	c.Place()
	check("one block", pidmap.Node)
	add(pidmap.Node+1000, pidmap.Node+2000)
	check("empty ones", pidmap.Node+1000)
	c.Born(pidmap.Node + 1000)
	check("one is emptier", pidmap.Node+2000)
	for n := range wire.PID(3) {
		c.Born(pidmap.Node + 2000 + n)
	}
	check("the other is", pidmap.Node+1000)
	c.Drop(wire.Block{First: pidmap.Node + 1000, Count: 100})
	check("it has gone", pidmap.Node+2000)
}

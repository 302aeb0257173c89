package pid1

import (
	"os"
	"path/filepath"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

func TestFenceIsLookedAtInTime(t *testing.T) {
	l := limits{first: 10000, end: 13200} // 200 in reserve
	for _, c := range []struct {
		last, before uint32
		back         bool
		rest         int64
	}{
		{9999, 9998, false, (200 + 3200/3) * timeOfNumber / 2}, // the cursor was put there
		{10000, 9999, false, (200 + 3200/3) * timeOfNumber / 2},
		{10000, 10000, false, 3000 * timeOfNumber},
		{12990, 12000, false, fenceSoon},
		{13000, 12000, true, fenceSoon},
		{15000, 12000, true, fenceSoon},
		{9998, 9998, true, fenceSoon},
		{0, 0, true, fenceSoon},
	} {
		if back, rest := l.look(c.last, c.before); back != c.back || rest != c.rest {
			t.Errorf("last %d: got %v, %v, want %v, %v", c.last, back, rest, c.back, c.rest)
		}
	}
	wide := limits{first: 10000, end: 1000000}
	for before, want := range map[uint32]int64{9999: fenceBusy, 10000: fenceRest} {
		if _, rest := wide.look(10000, before); rest != want {
			t.Errorf("got %v, want %v", rest, want)
		}
	}
}

// The daemon gets its notice before the fencer acts, however many processes there are, and a look
// at rest comes before the gap is used up.
func TestFencerComesAfterTheDaemon(t *testing.T) {
	const first = pidmap.Node
	for _, count := range []int32{384, 768, 3072, 6144, 24576, 1<<17 - pidmap.MaxGap} {
		block := wire.Block{First: first, Count: count}
		for live := int32(0); live <= count; live += max(1, count/8) {
			cursor := pidmap.NewCursor(wire.Block{})
			if err := cursor.Add([]wire.Block{block}); err != nil {
				t.Fatal(err)
			}
			for i := range live {
				cursor.Born(first + wire.PID(i))
			}
			move, _ := cursor.Place()
			_, end, _ := cursor.Current()
			l := limits{first: uint32(block.First), end: uint32(block.End())}
			if back, _ := l.look(uint32(move.Low), 0); back {
				t.Errorf("%d of %d live: the fencer acts at %d", live, count, move.Low)
			}
			for last := block.First; last < block.End(); last++ {
				back, rest := l.look(uint32(last), uint32(last))
				if next := int64(last) + rest/timeOfNumber; !back && next >= int64(end) {
					t.Fatalf("%d of %d live, at %d: %d by the next look, and there are numbers to %d", live, count, last, next, end)
				}
			}
		}
	}
}

// The fencer writes numbers in the kernel's format.
func TestFencerWritesNumbers(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "ns_last_pid"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := fence{cursor: file.Fd()}
	for _, next := range []uint32{2, 10, 11, 300, 1 << 20, 1<<22 - 1, 1 << 31} {
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		f.move(next)
		if got, want := f.last(), next-1; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

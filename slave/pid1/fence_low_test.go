package pid1

import (
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
		{9999, 9998, false, 3001 * timeOfNumber}, // put there
		{10000, 9999, false, 3000 * timeOfNumber},
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

// The daemon has its notice before the fencer acts, whatever processes there are, and a
// look at rest comes before the gap is used up.
func TestFencerComesAfterTheDaemon(t *testing.T) {
	const first = pidmap.Node
	for _, count := range []int32{64, 1024, 4096, pidmap.DefaultBlock, 4 * pidmap.DefaultBlock} {
		block := wire.Block{First: first, Count: count}
		for live := int32(0); live <= count; live += max(1, count/8) {
			cursor := pidmap.NewCursor()
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

// What is said is laid out as the fencer puts it.
func TestFenceThatIsSaid(t *testing.T) {
	var f fence
	for i := range 3 * len(f.limits) {
		first := pidmap.Node + wire.PID(1000*i)
		f.say(first, first+1000)
		l := &f.limits[f.said%uint32(len(f.limits))]
		if got, want := string(l.text[:l.length]), (first - 1).String(); got != want || l.first != uint32(first) || l.end != uint32(first)+1000 {
			t.Errorf("got %q, %d to %d, want %q", got, l.first, l.end, want)
		}
	}
}

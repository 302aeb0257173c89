package ghost

import (
	"os"
	"slices"
	"testing"

	"bproc/wire"
)

// TestAdopted has the next master, and the next keeper, know how ghosts were adopted.
func TestAdopted(t *testing.T) {
	f := newFixture(t)
	self := wire.PID(os.Getpid())
	plain, hung := f.ghost(t, nobody, "plain"), start(t, nobody, "hung")
	f.must(t, &wire.GhostAdopt{PID: hung, Parent: self, UID: nobody, HangUp: true, Birth: 7})
	const child wire.PID = 2100077
	f.must(t, &wire.GhostFork{Parent: plain, Child: child, Birth: 8})
	want := []wire.Adopted{{PID: plain, Parent: self}, {PID: hung, Parent: self, HangUp: true, Birth: 7}, {PID: child, Birth: 8}}
	slices.SortFunc(want, func(a, b wire.Adopted) int { return int(a.PID - b.PID) })
	know := func(who string) {
		t.Helper()
		if got := f.client.Adopted(); !slices.Equal(got, want) {
			t.Errorf("%s knows %+v, want %+v", who, got, want)
		}
	}
	f.nextMaster(t)
	know("the next master")
	f.killKeeper(t)
	f = newFixture(t)
	for i := range want {
		want[i].Birth = 0
		if want[i].PID == child {
			want[i].Parent = plain
		}
	}
	know("the next keeper")
	f.tell(t, &wire.GhostExit{PID: child})
	f.gone(t, child)
	for _, pid := range []wire.PID{plain, hung} {
		f.end(t, pid, 0)
	}
	f.nextMaster(t)
	want = nil
	know("the next master, when they have ended,")
}

package ghost

import (
	"os"
	"slices"
	"testing"

	"bproc/wire"
)

// TestAdopted checks that the next master, and the next keeper, know how ghosts were adopted.
func TestAdopted(t *testing.T) {
	f := newFixture(t)
	self := wire.PID(os.Getpid())
	plain, hung := f.ghost(t, nobody, "plain"), start(t, nobody, "hung")
	f.must(t, &wire.GhostAdopt{PID: hung, Parent: self, UID: nobody, HangUp: true, Birth: 7, Owner: 77, Space: 777})
	const child wire.PID = 2100077
	f.must(t, &wire.GhostFork{Parent: plain, Child: child, Birth: 8, Owner: 88})
	want := []wire.Adopted{{PID: plain, Parent: self}, {PID: hung, Parent: self, HangUp: true, Birth: 7, Owner: 77, Space: 777}, {PID: child, Birth: 8, Owner: 88}}
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
	f = keeperAt(t, f.socket)
	for i := range want {
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

// TestListsOfManyGhosts lists more ghosts than one message may have.
func TestListsOfManyGhosts(t *testing.T) {
	r := newRegistry()
	const count = 3*maxListed + 1
	for pid := wire.PID(1); pid <= count; pid++ {
		r.set(pid, new(shard))
		r.note(wire.Adopted{PID: pid, Parent: pid, Birth: 1 << 63, Owner: 1 << 63})
	}
	r.kill(7)
	var c Client
	for i, list := range r.lists() {
		if _, err := wire.Append(nil, 0, list); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
		if c.add(list); list.More != (len(c.Held()) < count) {
			t.Errorf("message %d says that there are more: %v", i, list.More)
		}
	}
	if all := r.list(); !slices.Equal(c.Held(), all.Held) || !slices.Equal(c.Adopted(), all.Adopted) || !slices.Equal(c.Killed(), all.Killed) {
		t.Errorf("got %d ghosts, %d of them adopted, %d killed; want %d and 1", len(c.Held()), len(c.Adopted()), len(c.Killed()), count)
	}
	if lists := newRegistry().lists(); len(lists) != 1 || lists[0].More {
		t.Errorf("without a ghost: %+v, want one message", lists)
	}
}

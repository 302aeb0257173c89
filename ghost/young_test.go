package ghost

import (
	"testing"
	"time"

	"bproc/wire"
)

// TestAlarmIsTakenAway leaves ghosts without a keeper when their alarms would come: one that had
// lived for a while when its keeper was killed, and one that a second keeper has adopted, which was
// killed right after.
func TestAlarmIsTakenAway(t *testing.T) {
	t.Parallel() // this test and another one wait for long
	const alarm = (AdoptTime + 1) * time.Second
	lives := func(pid wire.PID, after time.Time) {
		t.Helper()
		time.Sleep(time.Until(after))
		if state := statField(t, pid, 0); state != "S" {
			t.Fatalf("ghost %d: state %s", pid, state)
		}
	}
	first := newFixture(t)
	old := first.ghost(t, nobody, "old")
	oldAlarm := time.Now().Add(alarm)
	time.Sleep(2 * quietTime)
	young := first.ghost(t, nobody, "young")
	youngAlarm := time.Now().Add(alarm)
	first.killKeeper(t)
	lives(old, oldAlarm)
	second := newFixture(t)
	second.found(t, []wire.PID{old, young}, 0)
	second.killKeeper(t)
	lives(young, youngAlarm)
	f := newFixture(t)
	f.end(t, old, 0)
	f.end(t, young, 0)
}

// TestEndsOnce makes requests about ghosts that are ending: they end, and nothing else happens.
func TestEndsOnce(t *testing.T) {
	f := newFixture(t)
	for range 30 {
		pid := f.ghost(t, nobody, "ends")
		f.tell(t, &wire.GhostExit{PID: pid, Status: wire.ExitStatus(5)})
		f.tell(t, &wire.GhostSync{PID: pid}) // as a shard asks for one that is no longer young
		if st := wait(t, pid, 0); st.ExitStatus() != 5 {
			t.Fatalf("status %#x", st)
		}
		f.gone(t, pid)
	}
}

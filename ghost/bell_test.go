package ghost

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestBell wakes a shard by each of many requests, with and without ghosts to wait for. A request
// that does not wake it is answered too late for this test.
func TestBell(t *testing.T) {
	f := newFixture(t)
	for round := range 20 {
		pid := f.ghost(t, 0, fmt.Sprint("g", round))
		for range 50 {
			f.must(t, &wire.GhostSync{PID: pid})
		}
		f.end(t, pid, 0)
	}
}

// TestBellIsSilent checks that a keeper that was woken does nothing afterwards.
func TestBellIsSilent(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	for range 20 {
		f.must(t, &wire.GhostSync{PID: pid})
		eventually(t, "a keeper that sleeps", func() bool {
			const idle = 20 * bellPause
			before := f.switches(t)
			time.Sleep(idle)
			return f.switches(t)-before < 20
		})
	}
	f.end(t, pid, 0)
}

// TestBellSignalled sends the keeper the bell's signal from another process.
func TestBellSignalled(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	for range 50 {
		if err := unix.Kill(f.keeper.Process.Pid, alarmSignal); err != nil {
			t.Fatal(err)
		}
		f.must(t, &wire.GhostSync{PID: pid})
	}
	f.end(t, pid, 0)
}

// switches returns how often the threads of the keeper have waited so far.
func (f *fixture) switches(t testing.TB) (count uint64) {
	t.Helper()
	keeper := f.keeper.Process.Pid
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", keeper))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", keeper, thread.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var n [1]uint64
		if err := statusField(text, "voluntary_ctxt_switches:", 10, n[:]); err != nil {
			t.Fatal(err)
		}
		count += n[0]
	}
	return count
}

package nodes_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/fakemaster"
	"bproc/procfs"
	"bproc/wire"
)

// hoursAfter is the Shown of a node that was started some hours after the front end.
func hoursAfter(t *testing.T, boot string, hours int64) *wire.Shown {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return &wire.Shown{BootID: boot, Uptime: uint64(now.Nano() - hours*int64(time.Hour))}
}

// startOf returns the start time in a line of stat, in full hours.
func startOf(t *testing.T, stat []byte) int64 {
	t.Helper()
	const start, hour = 22 - 3, 100 * 3600 // proc_pid_stat(5), in ticks
	ticks, err := strconv.ParseInt(strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[start], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ticks / hour
}

// TestTimesOfStart has a node tell processes in successive looks. Their start times are those on
// the front end, with the same shift as long as the node runs.
func TestTimesOfStart(t *testing.T) {
	ghosts := map[wire.PID]string{}
	for pid := wire.PID(50); pid < 54; pid++ {
		ghosts[pid] = "70 40 40 0 -1"
	}
	f, source := startSource(t, ghosts)
	for _, look := range []struct {
		pid   wire.PID
		shown *wire.Shown
		want  int64
	}{
		{50, hoursAfter(t, "first", 3), 3},
		{51, hoursAfter(t, "first", 5), 3}, // its clock and ours differ now, or it lies
		{52, hoursAfter(t, "second", 7), 7},
		{53, &wire.Shown{BootID: "third", Uptime: 1 << 62}, 0}, // before the boot of this machine
	} {
		f.mu.Lock()
		f.shown = look.shown
		f.mu.Unlock()
		f.set(0, 1, func(c *fakemaster.Conn) {
			tells(look.pid)(c)
			c.Close() // so another look follows
		})
		until(t, source, fmt.Sprint("process ", look.pid), func(c procfs.Changes) bool {
			for _, p := range c.Changed {
				if p.PID != look.pid {
					continue
				}
				if got := startOf(t, p.Stat); got != look.want {
					t.Errorf("process %d was started %d hours after the front end, want %d", p.PID, got, look.want)
				}
				return true
			}
			return false
		})
	}
}

// TestTerminals has a node tell processes of sessions of the front end. Their terminals are those
// of their ghosts' sessions, unless they have one on the node. Session 0 is not a session: its
// processes are in sessions outside of the space, each in another one.
func TestTerminals(t *testing.T) {
	f, source := startSource(t, map[wire.PID]string{
		50: "70 40 40 34816 40", 51: "70 41 41 34816 41", 52: "70 42 0 34816 42", 53: "70 43 0 0 -1",
	})
	f.set(0, 4, func(c *fakemaster.Conn) {
		told := changedTexts(50, 51, 52, 53)
		told.Procs[1].Stat = stat(51, "1 41 41 34817 44")
		told.Procs[2].Stat = stat(52, "1 42 0 0 -1")
		told.Procs[3].Stat = stat(53, "1 43 0 0 -1")
		c.Send(told)
		c.Send(new(wire.Refreshed))
	})
	got := map[wire.PID]string{}
	until(t, source, "all processes", func(c procfs.Changes) bool {
		for _, p := range c.Changed {
			got[p.PID] = string(p.Stat)
		}
		return len(got) == 4
	})
	for pid, kin := range map[wire.PID]string{
		50: "70 40 40 34816 40", 51: "70 41 41 34817 44", 52: "70 42 0 0 -1", 53: "70 43 0 0 -1",
	} {
		if want := string(stat(pid, kin)); got[pid] != want {
			t.Errorf("got %q, want %q", got[pid], want)
		}
	}
}

package slave

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

func TestNewGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		procs := map[wire.PID]procevents.ProcessInfo{
			17:          {PID: 17, PGID: 17, SID: 4},                             // has made a group
			18:          {PID: 18, PGID: 5, SID: 4},                              // not yet
			19:          {PID: 19, PGID: 19, SID: 19},                            // has made a session
			pidmap.Node: {PID: pidmap.Node, PGID: pidmap.Node, SID: pidmap.Node}, // was forked here
		}
		process := func(pid wire.PID) (procevents.ProcessInfo, error) { return entryOf(procs, pid) }
		var g groups
		check := func(when string, unsettled bool, want ...madeGroup) {
			t.Helper()
			if got := g.made(process); !slices.Equal(got, want) || g.unsettled() != unsettled {
				t.Errorf("%s: got %v, %v, want %v, %v", when, got, g.unsettled(), want, unsettled)
			}
		}
		g.begin(pidmap.Node)
		check("one of the node", false)
		for _, pid := range []wire.PID{17, 18, 19, 20} {
			g.begin(pid)
		}
		check("begun", true, madeGroup{4, 17})
		g.settled(17)
		check("settled", true)
		procs[18] = procevents.ProcessInfo{PID: 18, PGID: 18, SID: 4}
		check("the next", true, madeGroup{4, 18})
		time.Sleep(settleTime)
		check("late", false)
	})
}

package core

import (
	"fmt"
	"testing"

	"bproc/wire"
)

// TestManyTaskGroups has a user in very many control groups below one. They are reviewed some at a
// time, with one question, and the group above is counted once.
func TestManyTaskGroups(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0", "up s0 0")
	const groups = 3*mostReviewed + 5
	outer := &taskGroup{TaskGroup: TaskGroup{Path: "/outer", ID: 1 << 40, Max: 1 << 20}, below: map[*allotment]bool{}}
	s.core.taskGroups[outer.ID] = outer
	for i := range uint64(groups) {
		g := &taskGroup{TaskGroup: TaskGroup{Path: fmt.Sprint("/outer/", i), ID: i + 1, Max: 1 << 20}, above: outer, below: map[*allotment]bool{}}
		a := &allotment{allotmentKey: allotmentKey{uid: 1000, group: g}, procs: 1}
		g.below[a], outer.below[a] = true, true
		s.core.taskGroups[g.ID], s.core.allotments[a.allotmentKey] = g, a
	}
	counted := map[string]int{}
	const ticks = 4
	for range ticks {
		s.sent = nil
		s.step(Tick{})
		s.step(News{})
		questions, budgets := 0, 0
		for _, o := range s.sent {
			switch o := o.(type) {
			case Ask:
				q, ok := o.Question.(CountTasks)
				if !ok {
					continue
				}
				if questions++; len(q.Paths) > mostReviewed+1 {
					t.Errorf("%d groups are counted at once", len(q.Paths))
				}
				for _, path := range q.Paths {
					counted[path]++
				}
			case ToNode:
				if _, is := o.Message.(*wire.Budget); is {
					budgets++
				}
			}
		}
		if questions != 1 || budgets > groups {
			t.Errorf("%d questions and %d promises with one tick", questions, budgets)
		}
	}
	if len(counted) != groups+1 || counted["/outer"] > ticks {
		t.Errorf("of %d groups %d are counted, the one above them %d times", groups, len(counted)-1, counted["/outer"])
	}
}

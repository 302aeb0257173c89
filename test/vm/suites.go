package main

import (
	"context"
	"regexp"
)

// step is a part of a suite that has a result.
type step struct {
	name string
	do   func(context.Context, *lab) error
}

// suite is a list of steps on shared machines. Chained steps start from the state that the previous
// ones have left.
type suite struct {
	name    string
	chained bool
	steps   []step
}

var suites = []suite{
	{name: "demo", steps: []step{{"demo", makeDemo}}},
	{name: "test", steps: []step{{"test", makeTest}}},
	{name: "cluster", chained: true, steps: clusterSteps},
}

// selected returns the steps that match. Of chained steps the first two, which make the cluster,
// are always selected with others.
func (s suite) selected(run *regexp.Regexp) []step {
	var chosen []step
	for i, st := range s.steps {
		if run.MatchString(s.name+"/"+st.name) || s.chained && i < clusterBase && s.any(run) {
			chosen = append(chosen, st)
		}
	}
	return chosen
}

func (s suite) any(run *regexp.Regexp) bool {
	for _, st := range s.steps {
		if run.MatchString(s.name + "/" + st.name) {
			return true
		}
	}
	return false
}

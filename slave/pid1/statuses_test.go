package pid1

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

const (
	stopped unix.WaitStatus = 0x137f // by SIGSTOP
	resumed unix.WaitStatus = 0xffff
	failure unix.WaitStatus = 0x0100 // exit(1)
)

// Stops and continuations that were not reported replace each other; the end replaces nothing.
func TestStatusesThatReplaceEachOther(t *testing.T) {
	var s statuses
	s.init()
	put := func(all ...unix.WaitStatus) {
		for _, is := range all {
			s.putLocked(7, waited{is: is}, true)
		}
	}
	put(stopped, resumed, stopped)
	begun, _ := s.first() // a daemon may have it already
	put(resumed, stopped, resumed)
	s.putLocked(8, waited{is: stopped}, true)
	put(exited, stopped) // the last is of another process with the number
	if got := s.pids(); !slices.Equal(slices.Compact(slices.Sorted(slices.Values(got))), []wire.PID{7, 8}) {
		t.Errorf("told of %v, want 7 and 8", got)
	}
	s.drop()
	told := []status{begun}
	for {
		next, ok := s.first()
		if !ok {
			break
		}
		told = append(told, next)
		s.drop()
	}
	want := []status{
		{7, waited{is: stopped}, true},
		{7, waited{is: resumed}, true},
		{8, waited{is: stopped}, true},
		{7, waited{is: exited}, true},
		{7, waited{is: stopped}, true},
	}
	if !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

// A launch may hold statuses of an earlier process with its number. They are not reported.
func TestStatusesOfAnEarlierProcess(t *testing.T) {
	list := func(all ...unix.WaitStatus) (list []waited) {
		for _, is := range all {
			list = append(list, waited{is: is})
		}
		return list
	}
	for _, c := range []struct {
		held  []waited
		ended bool
		want  []waited
	}{
		{nil, false, nil},
		{list(stopped), false, list(stopped)},
		{list(exited), true, list(exited)},
		{list(stopped, exited), true, list(stopped, exited)},
		{list(exited), false, nil},
		{list(stopped, exited, stopped), false, list(stopped)},
		{list(exited, stopped, failure), true, list(stopped, failure)},
		{list(exited, failure), true, list(failure)},
	} {
		if got := own(c.held, c.ended); !slices.Equal(got, c.want) {
			t.Errorf("%v, ended %v: got %v, want %v", c.held, c.ended, got, c.want)
		}
	}
}

package filter_test

import (
	"testing"

	"bproc/slave/pid1/filter"
)

func TestParseHome(t *testing.T) {
	for _, want := range []filter.Home{{}, home} {
		if got, err := filter.ParseHome(want.Args()); got != want || err != nil {
			t.Errorf("%v: got %v, %v", want, got, err)
		}
	}
	for _, args := range [][]string{nil, {"1048576"}, {"a", "1"}, {"1048576", "b"}, {"2", "1"}, {"1048576", "-1"}, {"1048576", "4294967295"}, {"1", "2", "3"}} {
		if got, err := filter.ParseHome(args); err == nil {
			t.Errorf("%q: got %v", args, got)
		}
	}
}

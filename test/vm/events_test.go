package main

import "testing"

func TestSameBounds(t *testing.T) {
	const space, job = "/a/space/pids.max 5440\n", "/a/space/user-7/group-9/pids.max 1765\n"
	for _, c := range []struct {
		was, now string
		want     bool
	}{
		{space + job, space + job, true},
		{space + job, space, true},
		{space + job, "/a/space/pids.max 2352\n" + job, false},
		{space + job, space + "/a/space/user-7/group-9/pids.max max\n", false},
		{space + job, job, false},
		{space, space + job, false},
		{"", "", false},
	} {
		if got := sameBounds(c.was, c.now); got != c.want {
			t.Errorf("bounds\n%sthen\n%sare the same: %v", c.was, c.now, got)
		}
	}
}

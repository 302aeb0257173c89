package core

import (
	"slices"
	"testing"
)

func TestMayUse(t *testing.T) {
	n := func(mode uint32) *node { return &node{Mode: mode, UID: 1000, GID: 500} }
	for _, test := range []struct {
		name string
		who  Caller
		mode []uint32 // modes with which it may
	}{
		{"root", Caller{}, []uint32{0, 0o100, 0o010, 0o001, 0o111}},
		{"owner", Caller{UID: 1000, GID: 1000}, []uint32{0o100, 0o111}},
		{"owner in the group", Caller{UID: 1000, GID: 500}, []uint32{0o100, 0o111}},
		{"group", Caller{UID: 1001, GID: 500}, []uint32{0o010, 0o111}},
		{"supplementary group", Caller{UID: 1001, GID: 1001, Groups: []uint32{1, 500}}, []uint32{0o010, 0o111}},
		{"other", Caller{UID: 1001, GID: 1001, Groups: []uint32{1}}, []uint32{0o001, 0o111}},
	} {
		for _, mode := range []uint32{0, 0o100, 0o010, 0o001, 0o111} {
			if got, want := test.who.mayUse(n(mode)), slices.Contains(test.mode, mode); got != want {
				t.Errorf("%s with mode %#o: got %v, want %v", test.name, mode, got, want)
			}
		}
	}
}

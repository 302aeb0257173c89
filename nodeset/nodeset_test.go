package nodeset_test

import (
	"slices"
	"strings"
	"testing"

	"bproc/nodeset"
	"bproc/wire"
)

var table = nodeset.Table{
	Host: "head",
	Nodes: []wire.Node{
		{ID: 0, Name: "alpha", State: "up", Addr: "10.0.0.10:4000"},
		{ID: 1, Name: "rack-3", State: "up", Addr: "[fd00::1]:4000"},
		{ID: 2, Name: "down", State: "down"},
		{ID: 5, Name: "notebook", State: "drained", Addr: "10.0.0.15:4000"},
		{ID: 7, Name: "eta", State: "up", Addr: "[::ffff:10.0.0.17]:4000"},
	},
}

func TestResolve(t *testing.T) {
	tests := []struct {
		spec string
		want string
	}{
		{"3", "3"},
		{"n3", "3"},
		{".3", "3"},
		{"007", "7"},
		{"-1", "-1"},
		{"n-1", "-1"},
		{"master", "-1"},
		{"self", "-1"},
		{"localhost", "-1"},
		{"head", "-1"},
		{"0-4", "0-2"},
		{"0-4,7", "0-2,7"},
		{"n0-n4", "0-2"},
		{"5-", "5,7"},
		{"8-", ""},
		{"7,0-1,7", "7,0-1,7"},
		{"all", "0-2,5,7"},
		{"up", "0-1,7"},
		{"allup", "0-1,7"},
		{"down", "2"},
		{"alldown", "2"},
		{"drained", "5"},
		{"alldrained", "5"},
		{"notup", "2,5"},
		{"!up", "2,5"},
		{"allnotup", "2,5"},
		{"notdown", "0-1,5,7"},
		{"allnotdown", "0-1,5,7"},
		{"!drained", "0-2,7"},
		{"!nosuch", "0-2,5,7"},
		{"boot", ""},
		{"alpha", "0"},
		{"rack-3", "1"},
		{"notebook", "5"},
		{"10.0.0.15", "5"},
		{"10.0.0.17", "7"},
		{"fd00::1", "1"},
		{"alpha,-1,up", "0,-1,0-1,7"},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			set, err := nodeset.Parse(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := set.Resolve(table)
			if err != nil {
				t.Fatal(err)
			}
			if got := nodeset.Format(ids); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnknownWord(t *testing.T) {
	for _, spec := range []string{"beta", "notbook", "allfoo", "allnotfoo", "not", "10.0.0.1", "rack-4", "0,beta"} {
		set, err := nodeset.Parse(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if ids, err := set.Resolve(table); err == nil {
			t.Errorf("%s: got %v, want an error", spec, ids)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ spec, want string }{
		{"", "empty element"},
		{"1,,2", "empty element"},
		{"1,", "empty element"},
		{"4-2", "ends before it begins"},
		{"99999999999", "no node number"},
		{"2147483647", "no node number"},
		{"0-99999999999", "no node number"},
		{"!", "no state"},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			_, err := nodeset.Parse(tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		spec string
		want []wire.NodeID
		ok   bool
	}{
		{"3", []wire.NodeID{3}, true},
		{"3,n1,-1", []wire.NodeID{3, 1, -1}, true},
		{"0-1", nil, false},
		{"3,up", nil, false},
		{"alpha", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			set, err := nodeset.Parse(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := set.Numbers()
			if ok != tt.ok || !slices.Equal(got, tt.want) {
				t.Errorf("got %v %v, want %v %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"3", "n3,.3", "0-4,7", "5-", "all", "!down", "allnotup", "-1", "rack-3", "--", "n-", "0-n4", "10.0.0.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		set, err := nodeset.Parse(spec)
		if err != nil {
			return
		}
		again, err := nodeset.Parse(set.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", spec, set, err)
		}
		if again.String() != set.String() {
			t.Fatalf("%q became %q and then %q", spec, set, again)
		}
		ids, err := set.Resolve(table)
		if err != nil {
			return
		}
		if numbers, ok := set.Numbers(); ok && !slices.Equal(numbers, ids) {
			t.Fatalf("%q: numbers %v, resolved %v", spec, numbers, ids)
		}
	})
}

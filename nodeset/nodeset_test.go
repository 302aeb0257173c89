package nodeset_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/nodeset"
	"bproc/wire"
)

var table = nodeset.Table{
	Host:   "head",
	Random: func(n int) int { return n - 1 }, // which chooses the last
	Nodes: []wire.Node{
		{ID: 0, Name: "alpha", State: "up", Addr: "10.0.0.10:4000", Arch: "amd64", Kernel: "6.10.1-13-amd64", CPUs: 128, Cores: 64, Sockets: 2, Memory: 64 << 30, GPUs: 2, Labels: []string{"gpu", "rack=4"}},
		{ID: 1, Name: "rack-3", State: "up", Addr: "[fd00::1]:4000", Arch: "arm64", Kernel: "6.9.0", CPUs: 8, Cores: 8, Sockets: 1, Memory: 32 << 30, Labels: []string{"old", "rack=10", "weight=1.5"}},
		{ID: 2, Name: "up", State: "down"},
		{ID: 5, Name: "notebook", State: "drained", Addr: "10.0.0.15:4000", Labels: []string{"gpu", "os=b12"}},
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
		{"draining", ""},
		{"notdraining", "0-2,5,7"},
		{"!draining", "0-2,5,7"},
		{"boot", ""},
		{"alpha", "0"},
		{"rack-3", "1"},
		{"notebook", "5"},
		{"10.0.0.15", "5"},
		{"10.0.0.17", "7"},
		{"fd00::1", "1"},
		{"alpha,-1,up", "0,-1,0-1,7"},

		// Odd behaviour of the original BProc, which stays.
		{"1,1,1", "1,1,1"},          // a command runs there three times
		{"0-2,1", "0-2,1"},          // a range does not absorb a number
		{"3-4", ""},                 // a range without nodes
		{"0-1000000", "0-2,5,7"},    // its end is beyond the last
		{"2-2", "2"},                //
		{"0-", "0-2,5,7"},           //
		{"7,5,0", "7,5,0"},          // not sorted
		{"up,all", "0-1,7,0-2,5,7"}, //
		{"4", "4"},                  // no such node: the master says so when something is started there
		{"n0-4", "0-2"},             //
		{"!down,2", "0-1,5,7,2"},    // not a difference of lists

		{"!alpha", "1-2,5,7"},
		{"!0", "1-2,5,7"},
		{"!0-2", "5,7"},
		{"!!up", "0-1,7"},
		{"!all", ""},
		{"!-1", "0-2,5,7"},
		{"!(up,down)", "5"},
		{"(0,7)", "0,7"},
		{"((0),(7,(0)))", "0,7,0"},

		{"tag:gpu", "0,5"},
		{"tag:rack", "0-1"},
		{"tag:nosuch", ""},
		{"!tag:gpu", "1-2,7"},
		{"!tag:old&up", "0,7"},
		{"up&tag:gpu", "0"},
		{"7,0,0&up", "7,0,0"},
		{"(7,0,0)&up", "7,0,0"},
		{"0-7&!down&!tag:gpu", "1,7"},
		{"4&all", ""},
		{"-1&all", ""},
		{"(tag:gpu,tag:old)&up,2", "0-2"},

		{"attr:arch=arm64", "1"},
		{"attr:arch!=arm64", "0"},
		{"!attr:arch=arm64", "0,2,5,7"},
		{"attr:mem>=64G", "0"},
		{"attr:mem>=32GiB", "0-1"},
		{"attr:mem<65537M", "0-1"},
		{"attr:mem=34359738368", "1"},
		{"attr:cpus>8", "0"},
		{"attr:cores<=8", "1"},
		{"attr:sockets==2", "0"},
		{"attr:gpus=0", "1"},
		{"attr:gpus>=1", "0"},
		{"attr:rack<10", "0"},
		{"attr:rack>4", "1"},
		{"attr:weight>1.25", "1"},
		{"attr:os=b12", "5"},
		{"attr:os=b012", ""},
		{"attr:os!=b012", "5"},
		{"attr:os>=b9", "5"},
		{"attr:kernel>=6.10", "0"},
		{"attr:kernel<6.10", "1"},
		{"attr:name=alpha", "0"},
		{"attr:number>5", "7"},
		{"attr:state=up&attr:arch=amd64", "0"},
		{"attr:nosuch=1", ""},

		{"random:3/all", "2,5,7"},
		{"random:1/up", "7"},
		{"random:2/(0,0,0,7,7)", "0,7"}, // each once
		{"random:1/up&tag:gpu", "0"},    // of the nodes that both mean
		{"5,random:1/up,5", "5,7,5"},
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
	for _, spec := range []string{"beta", "notbook", "allfoo", "allnotfoo", "not", "10.0.0.1", "rack-4", "0,beta", "!beta", "all&!beta"} {
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
		{"!", "nothing after !"},
		{"!,1", "nothing after !"},
		{"()", "empty element"},
		{"(1", "a ) is missing"},
		{"1)", "a ) without a ("},
		{"1(2)", "a ( must begin"},
		{"1&", "empty element"},
		{"&1", "empty element"},
		{"tag:", "no name of a tag"},
		{"tag:-x", "no name of a tag"},
		{"tag:a b", "no name of a tag"},
		{"attr:mem", "compares nothing"},
		{"attr:=4", "no name of an attribute"},
		{"attr:mem>=", "no value"},
		{"attr:mem!4", "no ! without ="},
		{"attr:mem=<4", "no value"},
		{"attr:mem>=64Q", `"64Q" is no number`},
		{"attr:cpus=many", "is no number"},
		{"attr:number<1.2.3", "is no number"},
		{"random:3", "a number and a slash"},
		{"random:0/up", "a number and a slash"},
		{"random:-1/up", "a number and a slash"},
		{"random:+1/up", "a number and a slash"},
		{"random:x/up", "a number and a slash"},
		{"random:3/", "empty element"},
		{strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), "too deep"},
		{strings.Repeat("!", 200) + "1", "too deep"},
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

// TestLargeList resolves the names and the addresses of all nodes of a large cluster, as a file of
// hosts has them.
func TestLargeList(t *testing.T) {
	const nodes = 4096
	var large nodeset.Table
	var names, addrs []string
	for id := range wire.NodeID(nodes) {
		name, addr := fmt.Sprintf("node%d.cluster", id), fmt.Sprintf("10.0.%d.%d", id/256, id%256)
		large.Nodes = append(large.Nodes, wire.Node{ID: id, Name: name, State: "up", Addr: addr + ":1234"})
		names, addrs = append(names, name), append(addrs, addr)
	}
	for _, list := range [][]string{names, addrs} {
		begin := time.Now()
		s, err := nodeset.Parse(strings.Join(list, ","))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := s.Resolve(large)
		if err != nil || nodeset.Format(ids) != "0-4095" {
			t.Errorf("got %s, %v", nodeset.Format(ids), err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it takes %v", took)
		}
	}
}

func TestTooFew(t *testing.T) {
	set, err := nodeset.Parse("random:4/up")
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := set.Resolve(table); err == nil || !strings.Contains(err.Error(), "only 3") {
		t.Errorf("got %v, %v", ids, err)
	}
}

// TestRandom checks that each node has the same chance.
func TestRandom(t *testing.T) {
	set, err := nodeset.Parse("random:2/all")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	fair := table
	fair.Random = random.IntN
	count := map[wire.NodeID]int{}
	const rounds = 5000
	for range rounds {
		ids, err := set.Resolve(fair)
		if err != nil || len(ids) != 2 || ids[0] >= ids[1] {
			t.Fatalf("got %v, %v", ids, err)
		}
		count[ids[0]]++
		count[ids[1]]++
	}
	for id, n := range count {
		if n < rounds*2/5-200 || n > rounds*2/5+200 {
			t.Errorf("node %d was chosen %d times of %d", id, n, rounds)
		}
	}
}

// TestOwnAttributes checks that nodes report the attributes that administrators cannot set.
func TestOwnAttributes(t *testing.T) {
	for _, name := range wire.OwnAttributes {
		set, err := nodeset.Parse("attr:" + name + ">0,attr:" + name + "<=0")
		if err != nil {
			t.Fatal(err)
		}
		if ids, err := set.Resolve(table); err != nil || len(ids) == 0 {
			t.Errorf("%s: got %v, %v", name, ids, err)
		}
	}
}

func TestIsNameOf(t *testing.T) {
	for name, want := range map[string]bool{
		"alpha": true, "rack-3": true, "n7.example.org": true, "maint": true, "7": true, "n7": true, ".7": true,
		"n5": false, "5": false, "all": false, "a&b": false, "a,b": false, "!a": false, "0-7": false, "tag:a": false, "self": false, "": false, "up": false, "notdown": false, "allup": false, "allnotdown": false,
	} {
		if got := nodeset.IsNameOf(name, 7); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
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
	for _, s := range []string{"3", "n3,.3", "0-4,7", "5-", "all", "!down", "allnotup", "-1", "rack-3", "--", "n-", "0-n4", "10.0.0.1", "!(up,!tag:a)&attr:mem>=64G", "random:3/up&!tag:x,1", "((1)"} {
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
		others, againErr := again.Resolve(table)
		if (err == nil) != (againErr == nil) || !slices.Equal(ids, others) {
			t.Fatalf("%q means %v, %v, and as %q %v, %v", spec, ids, err, set, others, againErr)
		}
		if err != nil {
			return
		}
		if numbers, ok := set.Numbers(); ok && !slices.Equal(numbers, ids) {
			t.Fatalf("%q: numbers %v, resolved %v", spec, numbers, ids)
		}
	})
}

// TestNamesOfOthers has machines call themselves as others do.
func TestNamesOfOthers(t *testing.T) {
	table := nodeset.Table{Host: "head", Nodes: []wire.Node{
		{ID: 0, Name: "db", State: "up", Addr: "10.0.0.1:4000"},
		{ID: 1, Name: "db", State: "up", Addr: "10.0.0.2:4000"},
		{ID: 2, Name: "10.0.0.1", State: "up", Addr: "10.0.0.3:4000"},
		{ID: 3, Name: "head", State: "up", Addr: "10.0.0.4:4000"},
	}}
	resolve := func(spec string) ([]wire.NodeID, error) {
		set, err := nodeset.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		return set.Resolve(table)
	}
	for spec, want := range map[string]wire.NodeID{"10.0.0.1": 0, "head": wire.FrontEnd, "n1": 1} {
		if ids, err := resolve(spec); err != nil || len(ids) != 1 || ids[0] != want {
			t.Errorf("%s: got %v, %v, want %v", spec, ids, err, want)
		}
	}
	const want = "node db: 2 nodes have this name, 0 and 1 for instance; use their numbers"
	if ids, err := resolve("db"); err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want %s", ids, err, want)
	}
}

package bpjob

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/internal/client"
	"bproc/internal/job/door"
	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

func TestForUser(t *testing.T) {
	for _, tt := range []struct {
		r  door.Request
		ok bool
	}{
		{door.Request{Args: []string{"start", "web"}, Root: "/r"}, true},
		{door.Request{Args: []string{"start", "web"}, Root: "/s"}, false},
		{door.Request{Args: []string{"supervise", "web"}, Root: "/r"}, false},
		{door.Request{Args: []string{"serve"}, Root: "/r"}, false},
		{door.Request{Args: []string{"-h=false", "start", "web"}, Root: "/r"}, false},
		{door.Request{Root: "/r"}, false},
	} {
		cmd, err := forUser(t.Context(), "/r", 7, tt.r)
		if (err == nil) != tt.ok {
			t.Errorf("%v: got %v", tt.r, err)
		}
		if err == nil && !slices.Contains(cmd.Env, "BPJOB_CALLER=7") {
			t.Errorf("%v: got %v", tt.r, cmd.Env)
		}
	}
}

func TestArrivals(t *testing.T) {
	node := func(id client.NodeID, state, boot string) client.Node {
		return client.Node{ID: id, State: state, Boot: boot}
	}
	var a arrivals
	for _, tt := range []struct {
		name  string
		table []client.Node
		came  []client.NodeID
	}{
		{"the first table", []client.Node{node(0, "up", "a"), node(1, "down", "b")}, nil},
		{"one comes up", []client.Node{node(0, "up", "a"), node(1, "up", "b")}, []client.NodeID{1}},
		{"one goes down", []client.Node{node(0, "down", "a"), node(1, "up", "b")}, nil},
		{"it was only cut off", []client.Node{node(0, "up", "a"), node(1, "up", "b")}, nil},
		{"one is booted", []client.Node{node(0, "boot", "c"), node(1, "up", "b")}, nil},
		{"it is up again", []client.Node{node(0, "up", "c"), node(1, "up", "b")}, []client.NodeID{0}},
		{"a new one", []client.Node{node(0, "up", "c"), node(1, "up", "b"), node(7, "up", "d")}, []client.NodeID{7}},
	} {
		came := a.next(tt.table)
		for _, id := range tt.came {
			if !came[id] {
				t.Errorf("%s: node %d has not come", tt.name, id)
			}
		}
		if len(came) != len(tt.came) {
			t.Errorf("%s: got %v", tt.name, came)
		}
	}
}

// TestArrivalsAfterRestart has the service start again while nodes are away, which come back with the boot that the former
// service has seen, or with another.
func TestArrivalsAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boots")
	if boots, err := readBoots(path); boots != nil || err != nil {
		t.Errorf("without a former service: %v, %v", boots, err)
	}
	former := arrivals{boots: map[client.NodeID]string{0: "a", 1: "b", 2: "c"}}
	if err := writeBoots(path, former.boots); err != nil {
		t.Fatal(err)
	}
	var a arrivals
	var err error
	if a.boots, err = readBoots(path); err != nil || !maps.Equal(a.boots, former.boots) {
		t.Fatalf("got %v, %v", a.boots, err)
	}
	if came := a.next([]client.Node{{ID: 0, State: "up", Boot: "a"}, {ID: 1, State: "down"}, {ID: 2, State: "down"}}); len(came) > 0 {
		t.Errorf("at first %v have come", came)
	}
	if came := a.next([]client.Node{{ID: 0, State: "up", Boot: "a"}, {ID: 1, State: "up", Boot: "b"}, {ID: 2, State: "up", Boot: "d"}}); len(came) != 1 || !came[2] {
		t.Errorf("then %v have come, want node 2", came)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readBoots(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: got %v", err)
	}
}

// TestMissed checks that the service waits for supervisors whose nodes are gone, and for no others: a node
// that is drained may be so for hours.
func TestMissed(t *testing.T) {
	var a arrivals
	a.next([]client.Node{{ID: 0, State: "up"}, {ID: 1, State: "down"}, {ID: 2, State: "boot"}, {ID: 3, State: "draining"}, {ID: 4, State: "error"}})
	for id, want := range []bool{false, true, true, false, false, true} {
		r := place.Record{Record: life.Record{State: life.Running}, Placed: true, Node: client.NodeID(id)}
		if got := a.missed(r); got != want {
			t.Errorf("node %d: got %v, want %v", id, got, want)
		}
	}
}

// TestMissedReboot has a node be there again before the supervisor of a process there has noticed that it was away.
func TestMissedReboot(t *testing.T) {
	var a arrivals
	a.next([]client.Node{{ID: 0, State: "up", Boot: "a"}})
	before := time.Now()
	a.next([]client.Node{{ID: 0, State: "up", Boot: "b"}})
	for since, want := range map[time.Time]bool{before: true, time.Now().Add(time.Millisecond): false} {
		r := place.Record{Record: life.Record{State: life.Running, Since: since}, Placed: true}
		if got := a.missed(r); got != want {
			t.Errorf("a process that has run since %v: got %v, want %v", since, got, want)
		}
	}
	a.at[0] = time.Now().Add(-noticed)
	if a.missed(place.Record{Record: life.Record{State: life.Running}, Placed: true}) {
		t.Error("the reboot was long ago")
	}
}

// TestLateJobIsOwed has the file of a job come late: the job is started when it comes.
func TestLateJobIsOwed(t *testing.T) {
	var a arrivals
	late, other := place.Job{Root: "/r", Name: "late"}, place.Job{Root: "/r", Name: "other"}
	a.owes(late, a.occasion(late, map[client.NodeID]bool{3: true}, true), true)
	a.owes(late, a.occasion(late, map[client.NodeID]bool{4: true}, false), true)
	if o := a.occasion(other, nil, false); o.first || len(o.came) > 0 {
		t.Errorf("another job has %+v", o)
	}
	o := a.occasion(late, nil, false)
	if !o.first || !o.came[3] || !o.came[4] {
		t.Errorf("it has %+v", o)
	}
	a.owes(other, a.occasion(other, nil, false), true)
	if len(a.owed) != 1 {
		t.Errorf("owed are %v", a.owed)
	}
	a.owes(late, o, false)
	if o := a.occasion(late, nil, false); o.first || len(o.came) > 0 {
		t.Errorf("it has %+v once more", o)
	}
}

func TestDue(t *testing.T) {
	now := boot{"this", time.Unix(1000, 0)}
	record := func(s life.State, run uint64, since int64, cause life.Cause) place.Record {
		if s == life.Created {
			return place.Record{}
		}
		return place.Record{Record: life.Record{State: s, Run: run, Since: time.Unix(since, 0), Exit: life.Exit{Cause: cause}}}
	}
	at := func(boot string, r place.Record) place.Record {
		r.Boot = boot
		return r
	}
	for _, tt := range []struct {
		name              string
		r                 place.Record
		came, first, want bool
	}{
		{"never started, node comes up", record(life.Created, 0, 0, ""), true, false, true},
		{"never started, service starts", record(life.Created, 0, 0, ""), false, true, true},
		{"never started, something else", record(life.Created, 0, 0, ""), false, false, false},
		{"ended, node comes up", record(life.Finished, 1, 2000, ""), true, false, true},
		{"ended, service starts", record(life.Finished, 1, 2000, ""), false, true, false},
		{"ended before the boot, service starts", record(life.Finished, 1, 500, ""), false, true, true},
		{"stopped before its first start, node comes up", record(life.Stopped, 0, 2000, ""), true, true, false},
		{"stopped, node comes up", record(life.Stopped, 1, 2000, ""), true, false, false},
		{"stopped before the boot, node comes up", record(life.Stopped, 1, 500, ""), true, false, true},
		{"stopped before the clock was set back, node comes up", at("this", record(life.Stopped, 1, 500, "")), true, false, false},
		{"stopped in another boot, by a clock that was ahead", at("former", record(life.Stopped, 1, 2000, "")), true, false, true},
		{"node went down, another is up", record(life.Failed, 1, 2000, life.NodeWentDown), false, false, true},
		{"failed, another is up", record(life.Failed, 1, 2000, ""), false, false, false},
	} {
		if got := due(tt.r, tt.came, tt.first, now); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

package master

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"bproc/master/core"
	"bproc/wire"
)

// TestAsks checks as whom the master looks something up for processes on a node.
func TestAsks(t *testing.T) {
	l := newLookedAt(t)
	l.m.input(t, core.Run{Client: 99, Who: core.Caller{PID: 1, UID: 1001}, Node: 3, PID: 62}) // its ghost is not adopted yet
	alice := core.Caller{UID: 1000, GID: 100}
	for _, tc := range []struct {
		name string
		from *slaveConn
		who  core.Caller
		of   wire.NodeID
		as   *wire.Asker
		want core.Caller
	}{
		{"a client of the front end", nil, core.Caller{UID: 1000, GID: 100, Groups: []uint32{7}}, 4, nil, core.Caller{UID: 1000, GID: 100, Groups: []uint32{7}}},
		{"its root", nil, core.Caller{}, 4, nil, core.Caller{}},
		{"its root, for somebody", nil, core.Caller{}, 4, &wire.Asker{UID: 1000, GID: 100}, alice},
		{"a client, for somebody", nil, alice, 4, &wire.Asker{}, alice},
		{"a user who has started something there", l.sess, alice, 4, nil, alice},
		{"such a user, of the front end", l.sess, alice, wire.FrontEnd, nil, alice},
		{"such a user, through root", l.sess, core.Caller{}, 4, &wire.Asker{UID: 1000, GID: 100}, alice},
		{"a user for root", l.sess, alice, 4, &wire.Asker{}, alice},
		{"root of a node", l.sess, core.Caller{}, 4, nil, everybody},
		{"root of a node, of the front end", l.sess, core.Caller{}, wire.FrontEnd, &wire.Asker{}, everybody},
		{"root of a node, of that node", l.sess, core.Caller{}, 3, nil, core.Caller{}},
		{"a user whose process is not there yet", l.sess, core.Caller{UID: 1001}, 4, nil, everybody},
		{"a user that a process of root has become", l.sess, core.Caller{UID: 1002}, 4, nil, everybody},
		{"a user who is made up", l.sess, core.Caller{}, 4, &wire.Asker{UID: 1003}, everybody},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &clientConn{m: l.m, who: tc.who, from: tc.from}
			got, err := c.asks(t.Context(), &wire.Inspect{Node: tc.of, PID: 61, For: tc.as})
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// TestRequestsFromNodes checks that viewers on a node may look, and nothing else.
func TestRequestsFromNodes(t *testing.T) {
	for _, tc := range []struct {
		request wire.Message
		may     bool
	}{
		{new(wire.ListNodes), true},
		{new(wire.Births), false},
		{new(wire.Look), true},
		{new(wire.Inspect), true},
		{new(wire.Run), false},
		{new(wire.Attach), false},
		{new(wire.SetNodes), false},
		{new(wire.Enroll), false},
		{new(wire.Revoke), false},
		{new(wire.ListProcs), false},
		{new(wire.Viewer), false},
	} {
		if got := ofViewer(tc.request); got != tc.may {
			t.Errorf("%T: got %t, want %t", tc.request, got, tc.may)
		}
	}
}

// TestNodeIsToldNoEnvironments checks that root on a node does not get the environments of all
// processes, as root's connections on the front end do.
func TestNodeIsToldNoEnvironments(t *testing.T) {
	l := newLookedAt(t)
	master, client := socketPair(t)
	send(t, client, 0, &wire.Look{Version: wire.Version, Node: 3})
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: l.m, log: l.m.log, conn: master, from: &slaveConn{node: 5}, spoken: func() {}}).serve(t.Context())
	}()
	t.Cleanup(func() { client.Close(); <-served })
	node := wire.NodeID(5)
	receive(t, l.node(), 0, &wire.Show{From: &node})
}

// TestLooksOfNodesHaveRoom has a node whose looks take all its room. A long answer to
// another look is taken when there is room again; it takes room until it has been passed on.
func TestLooksOfNodesHaveRoom(t *testing.T) {
	l := newLookedAt(t)
	master, client := socketPair(t)
	from := &slaveConn{node: 5}
	c := &clientConn{m: l.m, log: l.m.log, conn: master, from: from, spoken: func() {}}
	release, err := l.m.answers.take(t.Context(), c.payer(), maxLoad)
	if err != nil {
		t.Fatal(err)
	}
	send(t, client, 0, &wire.Look{Version: wire.Version, Node: 3})
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.serve(t.Context())
	}()
	node := l.node()
	id := wire.NodeID(5)
	receive(t, node, 0, &wire.Show{From: &id})
	long := &wire.Shown{BootID: strings.Repeat("x", 2*smallLoad)}
	sent := make(chan error, 1)
	go func() { sent <- wire.Write(node, 0, long) }()
	users := func() int {
		l.m.answers.mu.Lock()
		defer l.m.answers.mu.Unlock()
		if mine := l.m.answers.of[c.payer()]; mine != nil {
			return mine.users
		}
		return 0
	}
	for users() != 2 {
		runtime.Gosched()
	}
	release()
	receive(t, client, 0, long)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	for users() != 0 {
		runtime.Gosched()
	}
	client.Close()
	<-served
}

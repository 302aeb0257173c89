package master

import (
	"reflect"
	"testing"

	"bproc/wire"
)

// TestAsks: as whom the master looks something up for those on a node.
func TestAsks(t *testing.T) {
	l := newLookedAt(t)
	if err := l.m.do(t.Context(), func(c *core) {
		c.procs[60].starter, c.procs[60].state = 1000, running
		c.procs[62] = &proc{pid: 62, node: 3, starter: 1001, state: adopting}
		c.procs[63] = &proc{pid: 63, node: 3, uid: 1002, starter: 0, state: running}
	}); err != nil {
		t.Fatal(err)
	}
	alice := caller{uid: 1000, gid: 100}
	for _, tc := range []struct {
		name string
		from *session
		who  caller
		of   wire.NodeID
		as   *wire.Asker
		want caller
	}{
		{"a client of the front end", nil, caller{uid: 1000, gid: 100, groups: []uint32{7}}, 4, nil, caller{uid: 1000, gid: 100, groups: []uint32{7}}},
		{"its root", nil, caller{}, 4, nil, caller{}},
		{"its root, for somebody", nil, caller{}, 4, &wire.Asker{UID: 1000, GID: 100}, alice},
		{"a client, for somebody", nil, alice, 4, &wire.Asker{}, alice},
		{"a user who has started something there", l.sess, alice, 4, nil, alice},
		{"such a user, of the front end", l.sess, alice, wire.FrontEnd, nil, alice},
		{"such a user, through root", l.sess, caller{}, 4, &wire.Asker{UID: 1000, GID: 100}, alice},
		{"a user for root", l.sess, alice, 4, &wire.Asker{}, alice},
		{"root of a node", l.sess, caller{}, 4, nil, everybody},
		{"root of a node, of the front end", l.sess, caller{}, wire.FrontEnd, &wire.Asker{}, everybody},
		{"root of a node, of that node", l.sess, caller{}, 3, nil, caller{}},
		{"a user whose process is not there yet", l.sess, caller{uid: 1001}, 4, nil, everybody},
		{"a user that a process of root has become", l.sess, caller{uid: 1002}, 4, nil, everybody},
		{"a user who is made up", l.sess, caller{}, 4, &wire.Asker{UID: 1003}, everybody},
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

// TestRequestsFromNodes: those on a node may look, and nothing else.
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
		{new(wire.SetNode), false},
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

// TestNodeIsToldNoEnvironments: root's connections are told those of all, but not root's of
// a node.
func TestNodeIsToldNoEnvironments(t *testing.T) {
	l := newLookedAt(t)
	master, client := socketPair(t)
	send(t, client, 0, &wire.Look{Version: wire.Version, Node: 3})
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: l.m, log: l.m.log, conn: master, from: &session{node: 5}, spoken: func() {}}).serve(t.Context())
	}()
	t.Cleanup(func() { client.Close(); <-served })
	node := wire.NodeID(5)
	receive(t, l.node(), 0, &wire.Show{From: &node})
}

package master

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// requests returns a function that makes a request of a master with one node,
// and returns the answer.
func requests(t *testing.T) func(core.Caller, wire.Message) wire.Message {
	m := newMade(t, 3)
	uid := uint32(1000)
	m.input(t, core.SetNodes{Change: wire.SetNodes{Nodes: []wire.NodeID{3}, UID: &uid}})
	return func(who core.Caller, request wire.Message) wire.Message {
		t.Helper()
		master, client := socketPair(t)
		if err := wire.Write(client, 0, request); err != nil {
			t.Fatal(err)
		}
		(&clientConn{m: m, log: m.log, conn: master, who: who, spoken: func() {}, steps: make(chan step, maxSteps)}).serve(t.Context())
		answer, _, err := wire.NewReader(client).Read()
		if err != nil {
			t.Fatalf("answer to %T: %v", request, err)
		}
		return answer
	}
}

func TestRequests(t *testing.T) {
	ask := requests(t)
	root, user := core.Caller{PID: 1}, core.Caller{PID: 2, UID: 1000, GID: 1000}
	const v = wire.Version
	mode := uint32(0o100)
	failed := func(stage wire.Stage, errno unix.Errno, text string) wire.Message {
		return &wire.Failed{Stage: stage, Errno: uint32(errno), Text: text}
	}
	for _, test := range []struct {
		name    string
		who     core.Caller
		request wire.Message
		want    wire.Message
	}{
		{"another version", user, &wire.ListNodes{Version: v + 1}, &wire.Refused{Reason: "the master speaks protocol versions 1 to 1, the client 2"}},
		{"no version", user, new(wire.Run), &wire.Refused{Reason: "the master speaks protocol versions 1 to 1, the client 0"}},
		{"a slave's message", user, new(wire.Events), &wire.Refused{Reason: "the master does not take this request from a client"}},
		{"set", user, &wire.SetNodes{Version: v, Nodes: []wire.NodeID{3}, Mode: &mode}, new(wire.NodesSet)},
		{"set no node", user, &wire.SetNodes{Version: v, Nodes: []wire.NodeID{4}}, &wire.NodesSet{Failed: []wire.NodeFailed{{ID: 4, Errno: uint32(unix.ENXIO)}}}},
		{"nodes", user, &wire.ListNodes{Version: v}, &wire.NodeList{Nodes: []wire.Node{{ID: 3, State: "down", Mode: 0o100, UID: 1000, Trust: "limited", Labels: []string{}}}}},
		{"processes", user, &wire.ListProcs{Version: v}, &wire.ProcList{Procs: []wire.Proc{}}},
		{"enrol as a user", user, &wire.Enroll{Version: v, Seconds: 60}, failed(wire.StageRequest, unix.EPERM, "permission denied: only root may enrol nodes")},
		{"enrol for no time", root, &wire.Enroll{Version: v}, failed(wire.StageRequest, unix.EINVAL, "the token's life must be from 1 second to 720h0m0s")},
		{"enrol for ever", root, &wire.Enroll{Version: v, Seconds: ^uint32(0)}, failed(wire.StageRequest, unix.EINVAL, "the token's life must be from 1 second to 720h0m0s")},
		{"enrol below", root, &wire.Enroll{Version: v, Seconds: 60, Node: -5}, failed(wire.StageRequest, unix.EINVAL, "node numbers begin at 0; -1 is the next free one")},
		{"enrol as two", root, &wire.Enroll{Version: v, Seconds: 60, Node: -1, Name: "a,b"}, failed(wire.StageRequest, unix.EINVAL, `"a,b" is not the name of a node`)},
		{"enrol with a terminal", root, &wire.Enroll{Version: v, Seconds: 60, Node: -1, Name: "a\x1b[2J"}, failed(wire.StageRequest, unix.EINVAL, `"a\x1b[2J" is not the name of a node`)},
		{"enrol as a state", root, &wire.Enroll{Version: v, Seconds: 60, Node: -1, Name: "up"}, failed(wire.StageRequest, unix.EINVAL, `commands take "up" for a state or another number; choose another name, or the number, too`)},
		{"enrol as another", root, &wire.Enroll{Version: v, Seconds: 60, Node: 3, Name: "n4"}, failed(wire.StageRequest, unix.EINVAL, `commands take "n4" for a state or another number; choose another name, or the number, too`)},
		{"enrol too far", root, &wire.Enroll{Version: v, Seconds: 60, Node: maxNode + 1}, failed(wire.StageRequest, unix.EINVAL, "node numbers end at 1048576")},
		{"revoke as a user", user, &wire.Revoke{Version: v, Node: 3}, failed(wire.StageRequest, unix.EPERM, "permission denied: only root may revoke nodes")},
		{"revoke no node", root, &wire.Revoke{Version: v, Node: 4}, failed(wire.StageNode, unix.ENXIO, "")},
		{"revoke without a version", root, &wire.Revoke{Node: 3}, &wire.Refused{Reason: "the master speaks protocol versions 1 to 1, the client 0"}},
		{"switch on as a user", user, &wire.PowerOn{Version: v, Node: 3}, failed(wire.StageRequest, unix.EPERM, "permission denied: only root may switch nodes on")},
		{"switch on no node", root, &wire.PowerOn{Version: v, Node: 4}, failed(wire.StageNode, unix.ENXIO, "")},
		{"log as a user", user, &wire.ReadLog{Version: v, Node: 3}, failed(wire.StageRequest, unix.EPERM, "permission denied: only root may read the logs of nodes")},
		{"log of no node", root, &wire.ReadLog{Version: v, Node: 4}, failed(wire.StageNode, unix.ENXIO, "")},
		{"run nothing", user, &wire.Run{Version: v, Node: 3}, failed(wire.StageRequest, unix.EINVAL, "a command without a name")},
		{"run without a number", user, &wire.Run{Version: v, Node: 4, Command: wire.Command{Argv: []string{"true"}}}, failed(wire.StageRequest, unix.EINVAL, "a launch without a number")},
		{"run where no node is", user, &wire.Run{Version: v, Node: 4, Launch: 1, Command: wire.Command{Argv: []string{"true"}}}, failed(wire.StageNode, unix.ENXIO, "")},
	} {
		got := ask(test.who, test.request)
		if list, ok := got.(*wire.NodeList); ok {
			list.Nodes[0].Since = 0
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %T%+v, want %T%+v", test.name, got, got, test.want, test.want)
		}
	}
	if token, ok := ask(root, &wire.Enroll{Version: v, Seconds: 60, Node: -1}).(*wire.Token); !ok || token.Token == "" {
		t.Errorf("enrol: got %+v", token)
	}
}

// TestRequestsHaveRoom has a user whose requests take all room. The next request is read when there
// is room again, and gives its own room back.
func TestRequestsHaveRoom(t *testing.T) {
	master, client := socketPair(t)
	m := &Master{log: slog.New(slog.DiscardHandler), seats: newSeats(enough)}
	release, err := m.loads.take(t.Context(), 7, maxLoad)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: m, log: m.log, conn: master, who: core.Caller{UID: 7}, spoken: func() {}}).serve(t.Context())
	}()
	run := &wire.Run{Version: wire.Version, Command: wire.Command{Env: []string{strings.Repeat("x", 2*smallLoad)}}}
	if err := wire.Write(client, 0, run); err != nil {
		t.Fatal(err)
	}
	users := func() int {
		m.loads.mu.Lock()
		defer m.loads.mu.Unlock()
		return m.loads.of[7].users
	}
	for users() != 2 {
		select {
		case <-served:
			t.Fatal("a request was read for which there is no room")
		default:
			runtime.Gosched()
		}
	}
	release()
	if answer, _, err := wire.NewReader(client).Read(); err != nil || answer.Type() != wire.TypeFailed {
		t.Errorf("got %+v, %v, want Failed: there is no command", answer, err)
	}
	<-served
	if len(m.loads.of) > 0 {
		t.Errorf("room is taken: %v", m.loads.of)
	}
}

// awaitSecond waits until a second request of a user waits for room.
func awaitSecond(l *loads, who int64) {
	waits := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.of[who].users == 2
	}
	for !waits() {
		runtime.Gosched()
	}
}

// TestWaitForRoomEnds turns a client away that waits for room for its request.
func TestWaitForRoomEnds(t *testing.T) {
	master, client := socketPair(t)
	m := &Master{log: slog.New(slog.DiscardHandler), seats: newSeats(enough)}
	release, err := m.loads.take(t.Context(), 7, maxLoad)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	asking, turn := context.WithCancel(t.Context())
	defer turn()
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: m, log: m.log, conn: master, who: core.Caller{UID: 7}, spoken: func() {}}).serveAsked(t.Context(), asking)
	}()
	frame, err := wire.Append(nil, 0, &wire.Run{Command: wire.Command{Env: []string{strings.Repeat("x", 2*smallLoad)}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(frame[:wire.HeaderSize]); err != nil {
		t.Fatal(err)
	}
	awaitSecond(&m.loads, 7)
	begin := time.Now()
	turn()
	<-served
	if waited := time.Since(begin); waited > loadTime/2 {
		t.Errorf("it has waited for %v after it was turned away", waited)
	}
}

// TestTooManyNodes names many more nodes than there are in a change.
func TestTooManyNodes(t *testing.T) {
	master, client := socketPair(t)
	m := newMade(t)
	go (&clientConn{m: m, log: m.log, conn: master, who: core.Caller{UID: 7}, spoken: func() {}}).serve(t.Context())
	change := &wire.SetNodes{Version: wire.Version, Nodes: make([]wire.NodeID, moreNodes+1)}
	if err := wire.Write(client, 0, change); err != nil {
		t.Fatal(err)
	}
	if answer, _, err := wire.NewReader(client).Read(); err != nil || answer.Type() != wire.TypeFailed {
		t.Errorf("got %+v, %v, want Failed", answer, err)
	}
}

// TestAnswersHaveRoom has a user whose answers take all room. A long answer is given when there is room
// again, a short one at once.
func TestAnswersHaveRoom(t *testing.T) {
	for bytes, waits := range map[int]bool{smallLoad: false, smallLoad + 1: true, 2 * maxLoad: true} {
		master, client := socketPair(t)
		m := &Master{log: slog.New(slog.DiscardHandler), seats: newSeats(enough)}
		release, err := m.answers.take(t.Context(), 7, maxLoad)
		if err != nil {
			t.Fatal(err)
		}
		var made atomic.Bool
		answered := make(chan error, 1)
		go func() {
			c := &clientConn{m: m, log: m.log, conn: master, who: core.Caller{UID: 7}}
			answered <- c.withRoom(t.Context(), bytes, func() wire.Message {
				made.Store(true)
				return new(wire.ProcList)
			})
		}()
		users := func() int {
			m.answers.mu.Lock()
			defer m.answers.mu.Unlock()
			return m.answers.of[7].users
		}
		for waits && users() != 2 {
			runtime.Gosched()
		}
		if waits && made.Load() {
			t.Errorf("%d bytes: an answer is made for which there is no room", bytes)
		}
		if !waits {
			if err := <-answered; err != nil {
				t.Errorf("%d bytes: %v", bytes, err)
			}
		}
		release()
		if answer, _, err := wire.NewReader(client).Read(); err != nil || answer.Type() != wire.TypeProcList {
			t.Errorf("%d bytes: got %+v, %v", bytes, answer, err)
		}
		if waits {
			if err := <-answered; err != nil {
				t.Errorf("%d bytes: %v", bytes, err)
			}
		}
		if len(m.answers.of) > 0 {
			t.Errorf("%d bytes: room is taken: %v", bytes, m.answers.of)
		}
	}
}

// open is a connection that Close leaves open.
type open struct{ *net.UnixConn }

func (open) Close() error { return nil }

// TestNoAnswerAtTheEnd has the master end while a request waits for room. The client is not told that there is none: it
// asks the next master.
func TestNoAnswerAtTheEnd(t *testing.T) {
	master, client := socketPair(t)
	m := &Master{log: slog.New(slog.DiscardHandler), seats: newSeats(enough)}
	release, err := m.loads.take(t.Context(), 7, maxLoad)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	served := make(chan struct{})
	go func() {
		defer close(served)
		(&clientConn{m: m, log: m.log, conn: open{master}, who: core.Caller{UID: 7}, spoken: func() {}}).serve(ctx)
	}()
	if err := wire.Write(client, 0, &wire.Run{Version: wire.Version, Launch: 1, Command: wire.Command{Argv: []string{"true"}}}); err != nil {
		t.Fatal(err)
	}
	awaitSecond(&m.loads, 7)
	end()
	<-served
	master.Close()
	if answer, _, err := wire.NewReader(client).Read(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v, want the end of the connection", answer, err)
	}
}

// TestClientThatSaysNothing checks that the connection of a silent client ends with the master.
func TestClientThatSaysNothing(t *testing.T) {
	master, _ := socketPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&clientConn{spoken: func() {}, log: slog.New(slog.DiscardHandler), conn: master}).serve(ctx)
	}()
	cancel()
	<-done
}

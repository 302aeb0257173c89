package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/link"
)

// falseNode is a node that has joined, speaks the protocol over a real link, and sends what a test
// makes it send. It connects from the network of a machine without a slave.
type falseNode struct {
	t        *testing.T
	c        *cluster.Cluster
	machine  *cluster.Machine
	relay    string // an address that leads to the master
	identity *link.Identity
	node     wire.NodeID

	session *link.Session
	control link.Stream
	last    uint64 // number of the last event
	stop    context.CancelFunc
	ended   chan struct{} // closed with the session; then err has the reason
	err     error

	answered chan struct{} // closed when the answer to tellsAll has come
	launches chan *falseLaunch
	bypasses chan *falseBypass

	mu       sync.Mutex
	blocks   []wire.Block // granted to it
	progress uint64       // of the front end
}

// falseLaunch is a process that a false node was asked to start, and has not started.
type falseLaunch struct {
	spawn  *wire.Spawn
	stream link.Stream
}

// falseBypass is a bypass that a false node was asked for, and has not made.
type falseBypass struct {
	open   *wire.OpenBypass
	stream link.Stream
}

// joinFalseNode enrols a node with a number, and connects it.
func joinFalseNode(t *testing.T, c *cluster.Cluster, node int) *falseNode {
	t.Helper()
	token, err := c.Enroll(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	n := &falseNode{t: t, c: c, machine: c.Nodes[node], node: wire.NodeID(node)}
	if err := n.machine.Do(func() (err error) {
		n.identity, err = link.Join(t.Context(), n.addr(), token, filepath.Join(t.TempDir(), "identity"), n.machine.Name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	n.relay = relayFrom(t, n.machine, n.addr())
	n.connect(new(wire.Inventory))
	n.up()
	t.Cleanup(n.leave)
	return n
}

func (n *falseNode) addr() string { return n.c.Front.Addr.String() + ":2223" }

// dial opens a session, and its control stream.
func (n *falseNode) dial() {
	n.t.Helper()
	if err := n.maybeDial(); err != nil {
		n.t.Fatal(err)
	}
}

// maybeDial is dial, unless the master ends the session at once.
func (n *falseNode) maybeDial() error {
	n.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(n.t.Context()))
	hello := wire.Hello{Version: wire.Version, Arch: "amd64", Host: n.machine.Name, BootID: "boot"}
	session, err := link.Dial(ctx, link.DialConfig{Addr: n.relay, Identity: n.identity, Hello: hello, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		stop()
		n.t.Fatal(err)
	}
	ended := make(chan struct{})
	n.mu.Lock() // whoever listens to the former session may still do so
	n.session, n.stop, n.ended, n.last, n.blocks, n.progress = session, stop, ended, 0, nil, 0
	n.mu.Unlock()
	n.answered, n.launches = make(chan struct{}, 1), make(chan *falseLaunch, 1<<10)
	n.bypasses = make(chan *falseBypass, 1<<10)
	go func() {
		n.err = session.Run(ctx)
		close(ended)
	}()
	if n.control, err = session.Open(ctx); err != nil {
		n.overBy(err)
		return err
	}
	go n.listen(session, n.control, n.answered)
	go n.accept(ctx, session, n.launches, n.bypasses)
	return nil
}

// connect opens a session with an inventory, and adds the fields that every node has.
func (n *falseNode) connect(inventory *wire.Inventory) {
	n.t.Helper()
	if n.isOver() {
		cluster.Eventually(n.t, "the master has seen the end of the former session", func() error {
			switch states, err := n.c.States(n.t.Context()); {
			case err != nil:
				return err
			case states[int(n.node)] == "up":
				return errors.New("it is up")
			}
			return nil
		})
	}
	n.dial()
	inventory.Kernel, inventory.CPUs = "none", 1
	n.say(inventory)
}

// up waits until the node is part of the cluster, with numbers.
func (n *falseNode) up() {
	n.t.Helper()
	if err := n.c.WaitUp(n.t.Context(), int(n.node)); err != nil {
		n.t.Fatal(err)
	}
	cluster.Eventually(n.t, "the node has numbers", func() error {
		if len(n.granted()) == 0 {
			return errors.New("none yet")
		}
		return nil
	})
}

// again ends the session, if there is one, and begins another, without processes.
func (n *falseNode) again() {
	n.t.Helper()
	n.leave()
	n.connect(new(wire.Inventory))
	n.up()
}

// leave reports that no process runs here, and ends the session.
func (n *falseNode) leave() {
	if !n.isOver() && n.tryToSay(&wire.Leaving{Empty: true}) == nil {
		n.maybeTold()
	}
	n.stop()
	<-n.ended
}

func (n *falseNode) isOver() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// closed waits until the master has ended the session, and checks the reason.
func (n *falseNode) closed(says ...string) {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(lineTimeout):
		n.t.Fatalf("the master has not closed the session; it was to say %q", says)
	}
	for _, text := range says {
		if !strings.Contains(n.err.Error(), text) {
			n.t.Errorf("the session has ended: %v; it was to say %q", n.err, text)
		}
	}
}

// say sends a message on the control stream. The session may have ended.
func (n *falseNode) say(m wire.Message) {
	n.t.Helper()
	if err := n.tryToSay(m); err != nil {
		n.overBy(err)
	}
}

// overBy checks that an operation failed because the session ends.
func (n *falseNode) overBy(err error) {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(sayTime):
		n.t.Fatalf("%v, and the session goes on", err)
	}
}

// sayTime bounds the wait for a master that does not read.
const sayTime = 20 * time.Second

func (n *falseNode) tryToSay(m wire.Message) error { return n.request(0, m) }

// request sends a message with a number.
func (n *falseNode) request(number uint64, m wire.Message) error {
	if err := n.control.SetWriteDeadline(time.Now().Add(sayTime)); err != nil {
		return err
	}
	return wire.Write(n.control, number, m)
}

// tell sends events with their numbers.
func (n *falseNode) tell(events ...wire.Event) {
	n.t.Helper()
	n.say(&wire.Events{First: n.last + 1, Events: events})
	n.last += uint64(len(events))
}

// tellsAll is the number of a call that the master answers when it has handled everything before.
const tellsAll = 1

// told waits until the master has handled all messages.
func (n *falseNode) told() {
	n.t.Helper()
	if n.maybeTold(); n.isOver() {
		n.t.Fatalf("the session has ended: %v", n.err)
	}
}

// maybeTold is told, unless the master ends the session.
func (n *falseNode) maybeTold() {
	n.t.Helper()
	if err := n.request(tellsAll, &wire.Call{Op: 200}); err != nil { // an unknown call
		n.overBy(err)
		return
	}
	select {
	case <-n.answered:
	case <-n.ended:
	case <-time.After(lineTimeout):
		n.t.Fatal("the master neither answers nor ends the session")
	}
}

// granted returns the node's blocks.
func (n *falseNode) granted() []wire.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blocks
}

// number returns one of the node's numbers.
func (n *falseNode) number(i int) wire.PID { return n.granted()[0].First + wire.PID(i) }

// listen records the master's messages on the control stream, as long as the session is the node's.
func (n *falseNode) listen(session *link.Session, control link.Stream, answered chan<- struct{}) {
	reader := wire.NewReader(control)
	for {
		m, number, err := reader.Read()
		if err != nil {
			return
		}
		n.mu.Lock()
		if n.session == session {
			n.note(m)
		}
		n.mu.Unlock()
		if number == tellsAll {
			answered <- struct{}{}
		}
	}
}

// note records a message. The caller holds mu.
func (n *falseNode) note(m wire.Message) {
	switch m := m.(type) {
	case *wire.BlocksGranted:
		n.blocks = append(n.blocks, m.Blocks...)
	case *wire.Progress:
		n.progress = m.Event
	}
}

// certain returns an error if the front end has not caught up with all events.
func (n *falseNode) certain() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.progress < n.last && !n.isOver() {
		return fmt.Errorf("event %d is not certain, %d is", n.last, n.progress)
	}
	return nil
}

// accept accepts the streams that the master opens.
func (n *falseNode) accept(ctx context.Context, session *link.Session, launches chan<- *falseLaunch, bypasses chan<- *falseBypass) {
	for {
		stream, err := session.Accept(ctx)
		if err != nil {
			return
		}
		go func() {
			first, _, err := wire.NewReader(stream).Read()
			if err != nil {
				return
			}
			switch m := first.(type) {
			case *wire.Spawn:
				launches <- &falseLaunch{m, stream}
			case *wire.OpenBypass:
				bypasses <- &falseBypass{m, stream}
			}
		}()
	}
}

// launch has a user start a command here, and returns the request to the node.
func (n *falseNode) launch(user cluster.User) (*cluster.Cmd, *falseLaunch) {
	n.t.Helper()
	return n.launchTo(nil, user)
}

// launchTo is launch for a command with a standard output.
func (n *falseNode) launchTo(stdout io.Writer, user cluster.User) (*cluster.Cmd, *falseLaunch) {
	n.t.Helper()
	cmd := n.c.Front.Command(context.WithoutCancel(n.t.Context()), user, "bpsh", fmt.Sprint(n.node), "a command")
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	select {
	case l := <-n.launches:
		return cmd, l
	case <-time.After(lineTimeout):
		n.t.Fatal("the node is not asked for a process")
		return nil, nil
	}
}

// runs has a user start a command here, and reports that it runs.
func (n *falseNode) runs(user cluster.User) (*cluster.Cmd, *falseLaunch) {
	n.t.Helper()
	cmd, l := n.launch(user)
	n.tell(l.event(wire.EventSpawned))
	return cmd, l
}

// event returns an event of the process that was to be started.
func (l *falseLaunch) event(kind wire.EventKind) wire.Event {
	return wire.Event{Kind: kind, PID: l.spawn.PID, Birth: l.spawn.Launch}
}

// view opens a stream for a user of the node who looks.
func (n *falseNode) view(ctx context.Context, user cluster.User) (link.Stream, error) {
	st, err := n.session.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := st.SetDeadline(time.Now().Add(sayTime)); err != nil {
		return nil, err
	}
	return st, wire.Write(st, 0, &wire.Viewer{UID: user.UID, GID: user.GID})
}

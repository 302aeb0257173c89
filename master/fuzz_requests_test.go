package master

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/procfs/status"
	"bproc/wire"
)

// patience is how long a request may take after its client has left: it ends at once, but the
// machine may be busy.
const patience = time.Minute

// asked is a master with three nodes, of which node 3 gives the test's answer.
type asked struct {
	*lookedAt
	answer []byte
}

// unwilling is a keeper that refuses every ghost.
type unwilling struct {
	t *testing.T
	m *Master
}

func (k *unwilling) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		h, err := wire.ParseHeader(rest)
		if err != nil {
			return 0, err
		}
		rest = rest[wire.HeaderSize+int(h.Length):]
		if h.Number != 0 {
			_ = k.m.state.step(k.t.Context(), core.FromKeeper{Number: h.Number, Message: &wire.GhostDone{Errno: uint32(unix.EPERM)}})
		}
	}
	return len(b), nil
}

func newAsked(t *testing.T, answer []byte) *asked {
	a := &asked{newLookedAt(t), answer}
	out, refused := a.m.state.keeper.out, make(chan struct{})
	out.Open()
	go func() { _ = out.Run(refused, &unwilling{t, a.m}, nil) }()
	t.Cleanup(func() { close(refused) })
	proc, err := os.Open(t.TempDir()) // a front end without processes
	if err != nil {
		t.Fatal(err)
	}
	a.m.here = &here{proc: proc, server: status.NewServer(status.Config{
		Proc: proc, Log: slog.New(slog.DiscardHandler), Parent: func(wire.PID) wire.PID { return 0 },
		Hidden: func() func(wire.PID) bool { return func(wire.PID) bool { return false } },
	}, func() uint64 { return 0 })}
	t.Cleanup(func() { a.m.here.close(a.m.log) })
	a.m.cfg.Logs = t.TempDir()
	a.m.nodes, a.m.names = a.m.newRunner(), newNames()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case stream := <-a.streams:
				go a.node(stream)
			case <-done:
				return
			}
		}
	}()
	return a
}

// node does what node 3 does with a stream: it sends its answer, and closes the stream.
func (a *asked) node(stream net.Conn) {
	defer stream.Close()
	go func() { _, _ = io.Copy(io.Discard, stream) }()
	_, _ = stream.Write(a.answer)
}

// serve has a client send some bytes and leave, and returns the answer.
func (a *asked) serve(who core.Caller, from *slaveConn, says []byte) []byte {
	a.t.Helper()
	return a.hear(says, func(ctx context.Context, conn net.Conn) {
		(&clientConn{m: a.m, log: a.m.log, conn: conn, who: who, from: from, spoken: func() {}, steps: make(chan step, maxSteps)}).serve(ctx)
	})
}

// hear sends some bytes to the function that serves a connection, and leaves. It returns the
// answer.
func (a *asked) hear(says []byte, serve func(context.Context, net.Conn)) []byte {
	a.t.Helper()
	master, client := socketPair(a.t)
	go func() {
		_, _ = client.Write(says)
		_ = client.CloseWrite()
	}()
	heard := make(chan []byte)
	go func() { heard <- hearAll(client) }()
	ctx, cancel := context.WithTimeoutCause(a.t.Context(), patience, errors.New("the client has left long ago"))
	defer cancel()
	serve(ctx, master)
	if ctx.Err() != nil {
		a.t.Error(context.Cause(ctx))
	}
	return <-heard
}

// quiet is how long a client that hears nothing waits before it leaves for good: output may be held
// back for an event that never comes.
const quiet = 2 * time.Second

// hearAll reads what a client is told to the end; nothing if there is no end.
func hearAll(client net.Conn) (all []byte) {
	var part [4096]byte
	for {
		_ = client.SetReadDeadline(time.Now().Add(quiet)) // it cannot fail
		n, err := client.Read(part[:])
		all = append(all, part[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			client.Close()
			return nil
		}
		if err != nil {
			return all
		}
	}
}

// free fails if something of a request is left.
func (a *asked) free() {
	a.t.Helper()
	users := 0
	for _, l := range []*loads{&a.m.loads, &a.m.answers} {
		l.mu.Lock()
		users += len(l.of)
		l.mu.Unlock()
	}
	looks, births := len(a.m.viewers.count), len(a.m.births.waiting.count)
	if seats := a.m.seats.shares.Taken(); users != 0 || looks != 0 || births != 0 || seats != 0 {
		a.t.Errorf("left are loads of %d users, looks of %d, %d who wait for births, %d seats", users, looks, births, seats)
	}
}

// requestSeeds has one of each request.
func requestSeeds() []wire.Message {
	const v = wire.Version
	mode, state := uint32(0o111), "down"
	return []wire.Message{
		&wire.ListNodes{Version: v}, &wire.ListNumbers{Version: v}, &wire.ListProcs{Version: v}, &wire.Enroll{Version: v, Node: -1, Seconds: 60, Name: "n"}, &wire.ListTokens{Version: v}, &wire.RevokeToken{Version: v, ID: "0123456789abcdef"}, &wire.AwaitNames{Version: v},
		&wire.Revoke{Version: v, Node: 4}, &wire.SetNodes{Version: v, Nodes: []wire.NodeID{3}, State: &state}, &wire.SetNodes{Version: v, Nodes: []wire.NodeID{3, 4, 3, -1, 99}, Mode: &mode}, &wire.Births{Version: v}, &wire.AwaitNodes{Version: v}, &wire.ListHardware{Version: v, Fresh: true}, &wire.ListLoads{Version: v}, &wire.SetNodes{Version: v, Nodes: []wire.NodeID{3}, Set: []string{"a"}},
		&wire.Look{Version: v, Node: 3}, &wire.Look{Version: v, Node: wire.FrontEnd},
		&wire.Inspect{Version: v, Node: 3, PID: 60, Path: "maps"}, &wire.Inspect{Version: v, Node: wire.FrontEnd, PID: 1, Path: "maps", For: &wire.Asker{UID: 1}},
		&wire.Run{Version: v, Node: 4, Ghost: 4711, Launch: 1, Command: wire.Command{Argv: []string{"true"}}},
		&wire.RunMany{Version: v, Command: wire.Command{Argv: []string{"true"}}, Runs: []wire.OneRun{{Node: 4, Ghost: 4711, Launch: 1}, {Node: 3, Ghost: 4712, Launch: 2, Env: []string{"A=1"}}}},
		&wire.Attach{Version: v, Node: 5, Ghost: 4711}, &wire.Attach{Version: v, Node: 3, Ghost: 60}, &wire.Bypass{Version: v, Node: 3, PID: 60}, &wire.Bypass{Version: v, Node: 99},
		&wire.PowerOn{Version: v, Node: 3}, &wire.ReadLog{Version: v, Node: 3}, &wire.ReadLog{Version: v, Node: 3, Follow: true}, &wire.Reload{Version: v},
		&wire.Events{First: 1},
	}
}

// answerSeeds are answers of a node.
func answerSeeds() []wire.Message {
	return []wire.Message{
		&wire.Changed{Procs: []wire.Texts{{PID: 60}, {PID: 61}}, Ended: []wire.PID{60, 61}},
		&wire.Changed{Event: 1 << 62}, new(wire.Shown), new(wire.Refreshed),
		new(wire.Resumed), &wire.Piece{Last: true}, &wire.Piece{Event: 1 << 62}, new(wire.KillAll),
		&wire.Hardware{Kernel: "6", CPUs: 4, GPUs: make([]wire.GPU, 2)}, &wire.Sampled{Threads: 7},
	}
}

// Messages of a client while its process runs, and of the node of that process.
var (
	saidToProcesses = []dataType{
		{"Stdin", wire.TypeStdin}, {"StdoutTaken", wire.TypeStdoutTaken}, {"StderrTaken", wire.TypeStderrTaken}, {"Resize", wire.TypeResize},
	}
	saidFromProcesses = []dataType{{"Stdout", wire.TypeStdout}, {"Stderr", wire.TypeStderr}, {"StdinTaken", wire.TypeStdinTaken}, {"Effective", wire.TypeEffective}}
)

type dataType struct {
	name string // in the protocol
	typ  wire.Type
}

// dataFrame returns a frame of such a type.
func dataFrame(typ wire.Type, number uint64) []byte {
	if typ == wire.TypeStdin || typ == wire.TypeStdout || typ == wire.TypeStderr {
		return wire.AppendData(nil, typ, number, []byte("text"))
	}
	return wire.AppendData(nil, typ, number, nil)
}

func frameOf(f *testing.F, m wire.Message) []byte {
	f.Helper()
	b, err := wire.Append(nil, 7, m)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzRequest has a client, of the front end or of node 3, send any bytes, and the node answer with
// any bytes. The client must get only frames, and nothing may stay behind when it has left.
func FuzzRequest(f *testing.F) {
	for i, request := range requestSeeds() {
		for j, answer := range answerSeeds() {
			says := append(frameOf(f, request), frameOf(f, new(wire.Refresh))...)
			f.Add(j%3 == 0, (i+j)%2 == 0, says, frameOf(f, answer)) // of each kind of client
		}
	}
	f.Add(false, false, frameOf(f, &wire.Bypass{Version: wire.Version, Node: 3, PID: 60}), frameOf(f, new(wire.Resumed))) // it never connects
	attach, resumed := frameOf(f, &wire.Attach{Version: wire.Version, Node: 3, Ghost: 60, Report: true}), frameOf(f, new(wire.Resumed))
	for _, to := range saidToProcesses {
		for _, from := range saidFromProcesses {
			for _, number := range []uint64{0, 1, 1 << 62} { // an event that is there, or never comes
				f.Add(true, false, slices.Concat(attach, dataFrame(to.typ, number)), slices.Concat(resumed, dataFrame(from.typ, number)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, root, onNode bool, says, answer []byte) {
		a := newAsked(t, answer)
		who := core.Caller{PID: 100, UID: 1000, GID: 1000}
		if root {
			who = core.Caller{PID: 100}
		}
		var from *slaveConn
		if onNode {
			from = a.sess
		}
		areFrames(t, a.serve(who, from, says))
		a.free()
	})
}

// areFrames fails if a client is told anything else. What a process says may end within a frame.
func areFrames(t *testing.T, heard []byte) {
	t.Helper()
	for len(heard) > 0 {
		h, err := wire.ParseHeader(heard)
		missing := int(h.Length) > len(heard)-wire.HeaderSize
		if err == nil && missing && h.Type.IsData() { // the node has broken off
			return
		}
		if err != nil || missing {
			t.Fatalf("the client is told %x: %v", heard, err)
		}
		if h.Type.IsData() { // it is a process's, and for the client to check
			heard = heard[wire.HeaderSize+int(h.Length):]
			continue
		}
		if _, err := wire.Decode(h, heard[wire.HeaderSize:wire.HeaderSize+int(h.Length)]); err != nil {
			t.Fatalf("the client is told %x: %v", heard, err)
		}
		heard = heard[wire.HeaderSize+int(h.Length):]
	}
}

// opened is a stream that a node has opened.
type opened struct{ net.Conn }

func (o opened) WriteLate(p []byte) (int, error) { return o.Write(p) }
func (opened) Hurry()                            {}
func (opened) Drop() error                       { return nil }
func (opened) Gone() <-chan struct{}             { return nil }

// FuzzViewer has node 3 open a stream and send any bytes on it, as a rule a viewer and its request,
// and answer with any bytes. It must get only frames, and nothing may stay behind.
func FuzzViewer(f *testing.F) {
	for i, viewer := range []wire.Message{&wire.Viewer{}, &wire.Viewer{UID: 1000, GID: 1000}, new(wire.Inventory)} {
		for j, request := range requestSeeds() {
			answers := answerSeeds()
			f.Add(append(frameOf(f, viewer), frameOf(f, request)...), frameOf(f, answers[(i+j)%len(answers)]))
		}
	}
	f.Fuzz(func(t *testing.T, says, answer []byte) {
		a := newAsked(t, answer)
		areFrames(t, a.hear(says, func(ctx context.Context, conn net.Conn) {
			_ = a.sess.view(ctx, opened{conn}) // an error is logged
		}))
		a.free()
	})
}

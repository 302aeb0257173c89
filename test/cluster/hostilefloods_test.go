package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/link"
)

// TestFloodsOfANode has a joined node send excessive amounts of messages: see TestHostileNode.
func TestFloodsOfANode(t *testing.T) { attackByNode(t, nodeFloods) }

var nodeFloods = []nodeAttack{
	{"small events", floodOfSmallEvents},
	{"large events", floodOfLargeEvents},
	{"births", floodOfBirths},
	{"blocks", floodOfBlocks},
	{"calls", floodOfCalls},
	{"events again", floodOfEventsAgain},
	{"sessions", floodOfSessions},
	{"output", floodOfOutput},
	{"output that nobody reads", floodOfUnreadOutput},
	{"streams", floodOfStreams},
}

// floodTime is how long a flood lasts, however much arrives: a slow machine is not flooded for
// longer.
const floodTime = 2 * time.Second

// flood repeats a message until a number of bytes is sent, the time is over, or the master has
// closed the session.
func (n *falseNode) flood(bytes int, m func(i int) wire.Message) {
	n.t.Helper()
	end := time.Now().Add(floodTime)
	for i := 0; bytes > 0 && time.Now().Before(end) && !n.isOver(); i++ {
		frame, err := wire.Append(nil, uint64(i+10), m(i))
		if err != nil {
			n.t.Fatal(err)
		}
		_ = n.control.SetWriteDeadline(time.Now().Add(sayTime)) // the write returns the error
		if _, err := n.control.Write(frame); err != nil {
			return
		}
		bytes -= len(frame)
	}
	n.maybeTold()
}

const floodBytes = 8 << 20

func floodOfSmallEvents(n *falseNode, _ *witness) {
	const atOnce = 40_000
	n.flood(floodBytes, func(i int) wire.Message {
		return &wire.Events{First: uint64(i*atOnce) + 1, Events: make([]wire.Event, atOnce)}
	})
}

func floodOfLargeEvents(n *falseNode, _ *witness) {
	_, l := n.runs(cluster.Alice)
	long := l.event(wire.EventExeced)
	long.Argv = []string{strings.Repeat("x", wire.MaxMessage-1000)}
	many := l.event(wire.EventExeced)
	many.Argv = make([]string, 500_000)
	n.flood(floodBytes, func(i int) wire.Message {
		n.last++
		return &wire.Events{First: n.last, Events: []wire.Event{[]wire.Event{long, many}[i%2]}}
	})
}

func floodOfBirths(n *falseNode, _ *witness) {
	_, l := n.runs(cluster.Alice)
	const most = 2000
	births, end := 0, time.Now().Add(floodTime)
	for i := 0; i < most && time.Now().Before(end); i++ {
		births++
		n.tell(wire.Event{Kind: wire.EventForked, PID: n.number(i + 1), Parent: l.spawn.PID, PGID: l.spawn.PGID, SID: l.spawn.SID, Birth: uint64(i) + 10})
	}
	n.told()
	for i := range births {
		n.tell(wire.Event{Kind: wire.EventExited, PID: n.number(i + 1), Birth: uint64(i) + 10})
	}
	n.told()
}

func floodOfBlocks(n *falseNode, _ *witness) {
	n.flood(64<<10, func(int) wire.Message { return &wire.BlocksWanted{Blocks: 1<<32 - 1} })
	n.flood(floodBytes/2, func(int) wire.Message { return &wire.BlocksReturned{Blocks: make([]wire.Block, 200_000)} })
	blocks := make([]wire.Block, 600_000)
	for i := range blocks {
		blocks[i] = wire.Block{First: pidmap.Node + wire.PID(i)*2, Count: 1}
	}
	n.leave()
	n.connect(&wire.Inventory{Blocks: blocks[:400_000]})
	n.closed()
	n.again()
}

// floodOfCalls has processes of a user and of root ask for calls faster than they are answered.
func floodOfCalls(n *falseNode, w *witness) {
	_, mine := n.runs(cluster.Alice)
	_, roots := n.runs(cluster.Root)
	calls := []*wire.Call{
		{Op: wire.CallGetppid},
		{Op: wire.CallKill, Args: []int64{int64(w.r.ghost), 0}},
		{Op: wire.CallKill, Args: []int64{-int64(w.r.ghost), 0}},
		{Op: wire.CallEnd, Args: []int64{int64(w.r.ghost)}},
		{Op: wire.CallKill, Args: []int64{-1, 0}},
	}
	n.flood(floodBytes, func(i int) wire.Message {
		call := *calls[i%len(calls)]
		call.Caller = []wire.PID{mine.spawn.PID, roots.spawn.PID}[i/len(calls)%2]
		return &call
	})
}

// floodOfEventsAgain begins session after session with all events told before.
func floodOfEventsAgain(n *falseNode, _ *witness) {
	_, l := n.runs(cluster.Alice)
	const many = 20_000
	m := &wire.Events{First: 1}
	for i := range many {
		m.Events = append(m.Events, []wire.Event{
			{Kind: wire.EventForked, PID: n.number(i % 1000), Parent: l.spawn.PID, PGID: l.spawn.PGID, SID: l.spawn.SID, Birth: uint64(i) + 10},
			{Kind: wire.EventExited, PID: n.number(i % 1000), Birth: uint64(i) + 10},
		}[i%2])
	}
	for begin := time.Now(); time.Since(begin) < floodTime; {
		n.stop()
		<-n.ended
		n.connect(&wire.Inventory{PIDs: []wire.PID{l.spawn.PID}, Births: []uint64{l.spawn.Launch}, Blocks: nil, Again: many})
		n.say(m)
		n.maybeTold()
	}
}

// floodOfSessions begins session after session; half of them send nothing. The master may see two of them in
// the other order, and end the later one.
func floodOfSessions(n *falseNode, _ *witness) {
	for i, begin := 0, time.Now(); time.Since(begin) < floodTime; i++ {
		n.stop()
		<-n.ended
		if err := n.maybeDial(); err == nil && i%2 == 0 {
			n.say(new(wire.Inventory))
		}
	}
}

// writeFlood writes output of a process, whether it is read or not, until the time is over.
func (l *falseLaunch) writeFlood() (frames int) {
	end := time.Now().Add(floodTime)
	_ = l.stream.SetWriteDeadline(end) // the write returns the error
	data := make([]byte, 64<<10)
	for ; time.Now().Before(end); frames++ {
		if _, err := l.stream.Write(wire.AppendData(nil, wire.TypeStdout+wire.Type(frames%2), 0, data)); err != nil {
			break
		}
	}
	return frames
}

func floodOfOutput(n *falseNode, _ *witness) {
	_, l := n.runs(cluster.Alice)
	n.t.Logf("%d frames", l.writeFlood())
	n.tell(l.event(wire.EventExited))
	l.stream.Close()
}

// floodOfUnreadOutput writes output for stopped clients.
func floodOfUnreadOutput(n *falseNode, _ *witness) {
	var ends []func()
	for range 4 {
		cmd, l := n.runs(cluster.Alice)
		if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
			n.t.Fatal(err)
		}
		done := make(chan int, 1)
		go func() { done <- l.writeFlood() }()
		ends = append(ends, func() {
			n.t.Logf("%d frames", <-done)
			_ = cmd.Process.Signal(unix.SIGCONT) // it may have ended
			n.tell(l.event(wire.EventExited))
			l.stream.Close()
		})
	}
	for _, end := range ends {
		end()
	}
}

// maxStreams is fewer than a node may have: the Go runtime keeps a little memory of each goroutine
// for later ones, and there are some for each stream. The race detector keeps more.
func maxStreams() int {
	if cluster.Race {
		return 300
	}
	return 1000
}

// floodOfStreams opens streams, writes too much on most of them, and closes none.
func floodOfStreams(n *falseNode, _ *witness) {
	ctx, cancel := context.WithTimeout(n.t.Context(), floodTime)
	defer cancel()
	var streams []link.Stream
	for i := 0; i < maxStreams() && ctx.Err() == nil && !n.isOver(); i++ {
		st, err := n.view(ctx, cluster.Alice)
		if err != nil {
			break
		}
		streams = append(streams, st)
		_ = st.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))                        // the write returns the error
		_, _ = st.Write(wire.AppendData(nil, wire.TypeStdin, 0, make([]byte, (i%4)*(60<<10)))) // it may be refused
	}
	n.t.Logf("%d streams", len(streams))
	for _, st := range streams {
		st.Close()
	}
}

package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

// arena is a core with two nodes. The bytes of a fuzz target say what node 0 and the clients of
// user 1000 do. Node 1, with processes of user 2000, is honest: nothing may happen to it.
//
//	4711  on node 0, of user 1000, started from the front end by 100
//	4712  on node 1, of user 2000, started from the front end by 200; child is forked by it
type arena struct {
	*script
	data  []byte
	pids  []wire.PID // numbers from which the bytes choose
	child wire.PID
	names int // count of the sessions of node 0
	calls uint64
}

// hostile and honest name the sessions of the nodes; a number follows hostile.
const (
	hostile = "h"
	honest  = "s1"
)

func newArena(t *testing.T, data []byte) *arena {
	a := &arena{script: newScript(t), data: data}
	for _, line := range []string{
		"node 0 uid 1000", "node 1 uid 2000 mode 0100", "up h0 0", "up s1 1",
		"cgroup /all 6 400 40", "cgroup /all/hostile 7 100 20", "cgroup /all/honest 8 100 20",
		"proc 100 uid 1000 pgid 100 sid 50", "proc 200 uid 2000 pgid 200 sid 60",
		"proc 4711 parent 100 uid 1000 pgid 100 sid 50 limit 100 cgroup /all/hostile", "proc 4712 parent 200 uid 2000 pgid 200 sid 60 limit 100 cgroup /all/honest",
		"proc 4713 parent 100 uid 1000 pgid 100 sid 50 limit 100 cgroup /all/hostile", "proc 4714 parent 4711 uid 1000 pgid 4711 sid 50 limit 100 cgroup /all/hostile",
		"run 4711 0", "done GhostAdopt 4711", "events h0 Spawned 4711",
		"run 4712 1 uid 2000", "done GhostAdopt 4712", "events s1 Spawned 4712",
	} {
		a.line(line)
	}
	own, others := a.granted(0), a.granted(1)
	a.child = others + 3
	a.line(fmt.Sprintf("events s1 Forked %d parent 4712 birth 7", a.child))
	a.line(fmt.Sprintf("done GhostFork %d", a.child))
	a.pids = []wire.PID{
		4711, 4713, 4714, own, own + 1, own + 2, own + 3, // numbers that are node 0's, or can be
		own + 1023, own + 1024, // the end of these
		4712, a.child, a.child + 1, others, // numbers that are not
		0, 1, -1, 100, 200, pidmap.LocalEnd - 1, pidmap.Max - 1, pidmap.Max, -1 << 31,
	}
	a.lines = nil
	return a
}

// granted returns the first number that a node has.
func (a *arena) granted(node wire.NodeID) wire.PID {
	for first := pidmap.LocalEnd; first < pidmap.Max; first += 1024 {
		if owner, ok := a.core.alloc.Owner(first); ok && owner == node {
			return first
		}
	}
	a.Fatalf("node %d has no numbers", node)
	return 0
}

func (a *arena) line(line string) {
	words := strings.Fields(line)
	a.input(words[0], words[1:])
}

// next takes a byte of the data; after the end it returns 0.
func (a *arena) next() byte {
	if len(a.data) == 0 {
		return 0
	}
	b := a.data[0]
	a.data = a.data[1:]
	return b
}

// anyPID takes a number: in three of four cases one that node 0 or its clients have.
func (a *arena) anyPID() wire.PID {
	b := int(a.next())
	if b%4 != 0 {
		return a.pids[b/4%7]
	}
	return a.pids[b/4%len(a.pids)]
}

// birthOf takes a birth for a process: mostly its own.
func (a *arena) birthOf(pid wire.PID) uint64 {
	b := a.next()
	if p := a.core.procs[pid]; p != nil && b%4 != 0 {
		return p.birth
	}
	return uint64(b / 4 % 4)
}

// count takes a number below 4, for the length of a list.
func (a *arena) count() int { return int(a.next() % 4) }

func (a *arena) anyPIDs() []wire.PID {
	var pids []wire.PID
	for range a.count() {
		pids = append(pids, a.anyPID())
	}
	return pids
}

func (a *arena) anyIDs() *wire.IDs {
	b := a.next()
	if b%4 != 0 {
		return nil
	}
	id := func(b byte) uint32 { return 1000 * uint32(b%3) }
	return &wire.IDs{Real: id(b / 4), Effective: id(b / 16), Saved: id(b / 64)}
}

func (a *arena) anyBlocks() []wire.Block {
	var blocks []wire.Block
	for range a.count() {
		counts := []int32{1, 1024, 1 << 14, 1 << 20, 0, -1, 1<<31 - 1}
		blocks = append(blocks, wire.Block{First: a.anyPID(), Count: counts[int(a.next())%len(counts)]})
	}
	return blocks
}

func (a *arena) anyEvent() wire.Event {
	e := wire.Event{
		Kind: wire.EventKind(a.next() % 13), PID: a.anyPID(), Parent: a.anyPID(), PGID: a.anyPID(), SID: a.anyPID(),
		Status: wire.Status(a.next()) << 8 & 0xff00, User: a.anyIDs(), Group: a.anyIDs(),
	}
	e.Birth = a.birthOf(e.PID)
	if b := a.next(); b%4 == 0 {
		e.Maker, e.Stage, e.Errno = a.anyPID(), wire.Stage(b/4%8), uint32(b/32)
	}
	if b := a.next(); b%2 != 0 {
		e.Status = wire.Status(b)
		e.Argv, e.Comm = []string{"argv0", strings.Repeat("x", int(b))}, "comm"
	}
	return e
}

// session returns the last session of node 0.
func (a *arena) session() *session { return a.sessions[fmt.Sprintf("%s%d", hostile, a.names)] }

// fuzzMoves makes moves as the data says, every other one by the world.
func fuzzMoves(f *testing.F, moves ...move) {
	const longest, seeds = 1 << 10, 32
	random := rand.New(rand.NewPCG(1, uint64(len(moves))))
	for i := range seeds {
		data := make([]byte, longest>>(i%6))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { playMoves(t, data[:min(len(data), longest)], moves) })
}

func playMoves(t *testing.T, data []byte, moves []move) {
	a := newArena(t, data)
	for len(a.data) > 0 {
		b := int(a.next())
		if b%2 == 0 {
			moves[b/2%len(moves)](a)
		} else {
			world[b/2%len(world)](a)
		}
		a.keeperGives()
		a.drain()
		a.closes()
		a.check()
	}
	a.finish()
}

// closes ends the session of node 0 if the core has closed its link.
func (a *arena) closes() {
	name := fmt.Sprintf("%s%d closed", hostile, a.names)
	if slices.ContainsFunc(a.lines, func(line string) bool { return strings.HasPrefix(line, name) }) {
		a.step(NodeLost{a.session().id, ErrUnexpected})
	}
}

// drain drops the steps of launches.
func (a *arena) drain() {
	clear(a.steps)
}

// keeperGives ends at once the ghosts that are to end.
func (a *arena) keeperGives() {
	for i := 0; i < len(a.lines); i++ {
		var pid wire.PID
		if n, _ := fmt.Sscanf(a.lines[i], "keeper: GhostExit %d", &pid); n != 1 || strings.Contains(a.lines[i], "as a zombie") {
			continue
		}
		a.spare(a.lines[i])
		a.lines[i] = "" // done
		a.step(FromKeeper{0, &wire.GhostGone{PID: pid, Asked: true}})
	}
}

// spare fails if the keeper is asked for something about an honest process.
func (a *arena) spare(line string) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "keeper:" {
		return
	}
	for _, pid := range []wire.PID{4712, a.child} {
		if words[2] == pid.String() || words[1] == "GhostFork" && slices.Contains(words, pid.String()) || words[1] == "GhostTaken" && strings.Contains(line, fmt.Sprintf("{%d ", pid)) {
			a.Fatalf("process %d of the honest node: %s", pid, line)
		}
	}
}

// repeated counts how often a process waits for what a keeper is asked again, as all do.
func (a *arena) repeated(p *proc) (count int) {
	repetitions := map[*repetition]bool{{blocked: a.core.blocked}: true}
	for _, reply := range a.core.asked {
		if k, is := reply.(*rebirthKnown); is {
			repetitions[k.r] = true
		}
	}
	for r := range repetitions {
		for _, blocked := range r.blocked {
			if blocked == p {
				count++
			}
		}
	}
	return count
}

// check fails if something has happened to the honest node.
func (a *arena) check() {
	a.Helper()
	for _, line := range a.lines {
		a.spare(line)
		if rest, found := strings.CutPrefix(line, honest+": "); found && !strings.HasPrefix(rest, "Budget") && !strings.HasPrefix(rest, "BlocksGranted") && !strings.HasPrefix(rest, "Progress") {
			a.Fatalf("the honest node is told %q", rest)
		}
		if strings.HasPrefix(line, honest+" ") {
			a.Fatal(line)
		}
	}
	a.lines = a.lines[:0]
	for _, pid := range []wire.PID{4712, a.child} {
		p := a.core.procs[pid]
		if p == nil || p.node != 1 || p.state != running || !p.ghost || p.uid != 2000 || p.blockers != a.repeated(p) || len(p.waiting) != 0 {
			a.Fatalf("process %d of the honest node is %+v", pid, p)
		}
		if owner, ok := a.core.alloc.Owner(a.child); !ok || owner != 1 {
			a.Fatalf("the numbers of the honest node are node %d's", owner)
		}
	}
	if n := a.core.nodes.byID[1]; n.sess != a.sessions[honest] || n.Down || n.UID != 2000 || n.procs != 2 {
		a.Fatalf("the honest node is %+v", n)
	}
	if s := a.session(); s.calling < 0 || s.calling > maxCalls {
		a.Fatalf("%d calls are under way", s.calling)
	}
}

// finish removes the hostile node for good: nothing may be left of it, and the honest node must
// work.
func (a *arena) finish() {
	a.step(NodeLost{a.session().id, ErrUnexpected})
	for range 4 {
		a.settle()
		a.now = a.now.Add(testLease + 2*LeaseMargin)
		a.step(Tick{})
	}
	a.settle()
	for pid, p := range a.core.procs {
		if p.node != 1 {
			a.Errorf("process %d of the hostile node is left: %+v", pid, p)
		}
	}
	if left := len(a.core.asked) + len(a.core.onNode[0]) + len(a.core.groupCalls) + len(a.core.delayed) + len(a.core.again); left != 0 {
		a.Errorf("%d requests, %d processes, %d calls for groups, %d launches and %d repetitions are left",
			len(a.core.asked), len(a.core.onNode[0]), len(a.core.groupCalls), len(a.core.delayed), len(a.core.again))
	}
	a.line(fmt.Sprintf("events s1 Forked %d parent 4712 birth 8", a.child+1))
	a.line(fmt.Sprintf("done GhostFork %d", a.child+1))
	if p := a.core.procs[a.child+1]; p == nil || p.state != running || p.node != 1 {
		a.Errorf("a birth on the honest node: %+v", p)
	}
}

// settle has the keeper carry out all requests.
func (a *arena) settle() {
	for {
		a.keeperGives()
		a.drain()
		a.check()
		if len(a.asked) == 0 {
			return
		}
		a.answerNext(0)
	}
}

// The messages of a node, each by itself (TestMessagesOfNodesAreFuzzed).

func FuzzEvents(f *testing.F)         { fuzzMoves(f, moveEvents) }
func FuzzInventory(f *testing.F)      { fuzzMoves(f, moveInventory) }
func FuzzBlocksWanted(f *testing.F)   { fuzzMoves(f, moveBlocksWanted) }
func FuzzBlocksReturned(f *testing.F) { fuzzMoves(f, moveBlocksReturned) }
func FuzzLeaving(f *testing.F)        { fuzzMoves(f, moveLeaving) }
func FuzzSignalsTaken(f *testing.F)   { fuzzMoves(f, moveSignalsTaken) }
func FuzzCalls(f *testing.F)          { fuzzMoves(f, moveCall) }
func FuzzBounded(f *testing.F)        { fuzzMoves(f, moveBounded, moveEvents) }
func FuzzRenewRequest(f *testing.F)   { fuzzMoves(f, moveRenewRequest) }
func FuzzPowered(f *testing.F)        { fuzzMoves(f, movePowered, movePower) }
func FuzzHardware(f *testing.F)       { fuzzMoves(f, moveHardware) }

// A machine that joins with a token.

func FuzzJoin(f *testing.F) { fuzzMoves(f, moveJoin, moveInventory) }

// The messages of a client that change the core.

func FuzzRun(f *testing.F)     { fuzzMoves(f, moveRun, moveLeft) }
func FuzzAttach(f *testing.F)  { fuzzMoves(f, moveAttach, moveRun) }
func FuzzSetNode(f *testing.F) { fuzzMoves(f, moveSetNode, moveSetLabels) }

// FuzzCluster makes all moves, in any order.
func FuzzCluster(f *testing.F) {
	fuzzMoves(f, moveEvents, moveEvents, moveInventory, moveBlocksWanted, moveBlocksReturned, moveLeaving, moveSignalsTaken, moveCall, moveBounded, moveWrong, moveRun, moveAttach, moveLeft, moveSetNode,
		moveRenewRequest, movePowered, movePower, moveHardware, moveJoin, moveSetLabels)
}

package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/test/cluster"
	"bproc/wire"
)

// TestHostileNode has a joined node send what no node may send. After each attack the other node,
// its processes and clients are as before, and so is the memory of all daemons.
func TestHostileNode(t *testing.T) { attackByNode(t, hostileNodeAttacks) }

// attackByNode has a node make attacks, each in a session of its own.
func attackByNode(t *testing.T, attacks []nodeAttack) {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Nodes: 2, NoSlaves: true})
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0, "--join", token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	n := joinFalseNode(t, c, 1)
	w := newWitness(t, c)
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			w.t, w.r.t, n.t = t, t, t
			defer n.leave()
			n.again()
			begin := time.Now()
			attack.do(n, w)
			t.Logf("the attack takes %v; memory of the master %d KiB", time.Since(begin).Round(time.Millisecond), w.memory()["front bpmaster"])
			if n.isOver() { // its processes end when it connects without them
				n.again()
			}
			n.leave()
			w.asBefore()
		})
	}
	w.t, w.r.t, n.t = t, t, t
	w.end()
}

// nodeAttack is an attack by a node. It begins with a session.
type nodeAttack struct {
	name string
	do   func(n *falseNode, w *witness)
}

var hostileNodeAttacks = []nodeAttack{
	{"claims in an inventory", claimsInInventory},
	{"claims of births", claimsOfBirths},
	{"blocks of others given back", blocksOfOthers},
	{"forged events", forgedEvents},
	{"forged users", forgedUsers},
	{"forged groups", forgedGroups},
	{"forged calls", forgedCalls},
	{"forged views", forgedViews},
	{"forged launches", forgedLaunches},
	{"events again", eventsAgain},
	{"events ahead", eventsAhead},
	{"out of order", outOfOrder},
	{"wrong directions", wrongDirections},
	{"wrong streams", wrongStreams},
	{"silent sessions", silentSessions},
	{"forged bypasses", forgedBypasses},
}

// others returns processes that are not the node's: of the honest node, and of the front end.
func (n *falseNode) others(w *witness) []wire.PID {
	n.t.Helper()
	client, err := w.r.bpsh.PID()
	if err != nil {
		n.t.Fatal(err)
	}
	master, err := n.c.Master.PID()
	if err != nil {
		n.t.Fatal(err)
	}
	all := []wire.PID{1, wire.PID(w.r.ghost), wire.PID(client), wire.PID(master)}
	for _, p := range childrenOf(n.t, n.c.Front, w.r.ghost) {
		all = append(all, wire.PID(p.PID))
	}
	return all
}

func claimsInInventory(n *falseNode, w *witness) {
	all := []wire.Block{{First: pidmap.Node, Count: int32(pidmap.Max - pidmap.Node)}}
	pids := n.others(w)
	slices.Sort(pids)
	n.leave()
	n.connect(&wire.Inventory{PIDs: pids, Blocks: all, Starting: pids, Stopped: pids, Births: make([]uint64, len(pids))})
	n.closed("without numbers of its own")
	for _, strangers := range []wire.PID{10_000, 30_000} {
		claimed := slices.Clone(pids)
		for pid := range strangers {
			claimed = append(claimed, pidmap.Node+pid*16)
		}
		slices.Sort(claimed)
		n.connect(&wire.Inventory{PIDs: claimed, Starting: claimed, Stopped: claimed, Parents: claimed})
		if strangers > 20_000 { // they are not killed one by one
			n.closed("very many processes")
			continue
		}
		n.up()
		n.told()
		n.leave()
	}
}

func claimsOfBirths(n *falseNode, w *witness) {
	_, l := n.runs(cluster.Alice)
	home := identityOf(n.t, n.c.Nodes[0]).Home
	for _, pid := range append(n.others(w), 0, -1, 300, home.First+5, pidmap.Max, l.spawn.PID) {
		n.tell(wire.Event{Kind: wire.EventForked, PID: pid, Parent: l.spawn.PID, PGID: l.spawn.PGID, SID: l.spawn.SID, Birth: 77})
	}
	for _, pid := range n.others(w) {
		n.tell(
			wire.Event{Kind: wire.EventForked, PID: n.number(1), Parent: pid, PGID: l.spawn.PGID, SID: l.spawn.SID, Birth: 78},
			wire.Event{Kind: wire.EventForked, PID: n.number(2), Parent: l.spawn.PID, Maker: pid, Birth: 79},
			wire.Event{Kind: wire.EventForked, PID: n.number(3), Parent: pid, Maker: l.spawn.PID, Birth: 80},
		)
	}
	n.told()
	if err := n.c.Front.Kill(int(n.number(1)), 0); err == nil {
		n.t.Error("a child of another's process is there")
	}
}

func blocksOfOthers(n *falseNode, _ *witness) {
	home := identityOf(n.t, n.c.Nodes[0]).Home
	n.say(&wire.BlocksReturned{Blocks: []wire.Block{home, {First: pidmap.Node, Count: int32(pidmap.Max - pidmap.Node)}, {First: -5, Count: -7}}})
	n.say(&wire.BlocksReturned{Blocks: n.granted()})
	n.say(&wire.BlocksReturned{Blocks: n.granted()})
	n.maybeTold()
}

func forgedEvents(n *falseNode, w *witness) {
	for kind := range wire.EventKind(20) {
		for _, pid := range n.others(w) {
			for _, status := range []wire.Status{0, 9, 19, 0x137f, 0xffff} {
				n.tell(wire.Event{
					Kind: kind, PID: pid, PGID: pid, SID: pid, Status: status, Stage: wire.StageExec, Errno: 2, Argv: []string{"forged"},
					User: new(wire.IDs), Group: new(wire.IDs),
				})
			}
		}
	}
	n.told()
	if process, _ := w.r.state(); process == "" || stopped(process) {
		n.t.Errorf("the witness is %q", process)
	}
}

func forgedUsers(n *falseNode, _ *witness) {
	const squashed = 65534
	_, l := n.runs(cluster.Alice)
	for _, uid := range []uint32{0, cluster.Bob.UID, 4242} {
		ids := &wire.IDs{Real: uid, Effective: uid, Saved: uid}
		e := l.event(wire.EventUser)
		e.User, e.Group = ids, ids
		n.tell(e, wire.Event{Kind: wire.EventForked, PID: n.number(int(uid%4096) + 1), Parent: l.spawn.PID, PGID: l.spawn.PGID, SID: l.spawn.SID, User: ids, Birth: uint64(uid) + 1000})
		for _, pid := range []wire.PID{l.spawn.PID, n.number(int(uid%4096) + 1)} {
			cluster.Eventually(n.t, "it has the user of nobody", func() error {
				p, err := n.c.Front.Proc(int(pid))
				if err == nil && !slices.Equal(p.UIDs, []int{squashed, squashed, squashed}) {
					err = fmt.Errorf("it has %v", p.UIDs)
				}
				return err
			})
		}
	}
}

func forgedGroups(n *falseNode, w *witness) {
	_, l := n.runs(cluster.Alice)
	for _, pid := range n.others(w) {
		e := l.event(wire.EventGrouped)
		e.PGID, e.SID = pid, pid
		n.tell(e)
		e.SID, e.Maker = 0, pid
		n.tell(e)
	}
	n.told()
	group := func(pid int) int {
		p, err := n.c.Front.Proc(pid)
		if err != nil {
			n.t.Error(err)
		}
		return p.PGID
	}
	cluster.Eventually(n.t, "all was handled", n.certain)
	if mine, others := group(int(l.spawn.PID)), group(w.r.ghost); mine == others {
		n.t.Errorf("its process is in group %d of the witness", others)
	}
}

func forgedCalls(n *falseNode, w *witness) {
	_, mine := n.runs(cluster.Alice)
	_, roots := n.runs(cluster.Root)
	info := make([]byte, 128)
	number := uint64(100)
	for _, caller := range append(n.others(w), mine.spawn.PID, roots.spawn.PID, 0, -1) {
		for op := range wire.CallOp(14) {
			for _, to := range append(n.others(w)[1:2], -1, -wire.PID(w.r.ghost), 0, 1<<30) {
				if op == wire.CallEnd && to > 0 {
					continue // it waits for the end of a process that goes on
				}
				for _, args := range [][]int64{{int64(to)}, {int64(to), int64(unix.SIGKILL)}, {int64(to), int64(to), int64(unix.SIGKILL)}} {
					for _, info := range [][]byte{nil, info} {
						number++
						if err := n.request(number, &wire.Call{Caller: caller, Op: op, Args: args, Info: info}); err != nil {
							n.t.Fatal(err)
						}
					}
				}
			}
		}
	}
	n.told()
}

func forgedViews(n *falseNode, w *witness) {
	for _, user := range []cluster.User{cluster.Root, cluster.Bob} {
		for _, node := range []wire.NodeID{0, wire.FrontEnd} {
			for _, path := range []string{"environ", "../../etc/shadow", "fd", "/etc/shadow", "status\x00x"} {
				st, err := n.view(n.t.Context(), user)
				if err != nil {
					n.t.Fatal(err)
				}
				pid := wire.PID(w.r.ghost)
				if node == wire.FrontEnd {
					pid = n.others(w)[2]
				}
				if err := wire.Write(st, 0, &wire.Inspect{Version: wire.Version, Node: node, PID: pid, Kind: wire.FetchFile, Path: path, For: &wire.Asker{UID: cluster.Bob.UID}}); err != nil {
					n.t.Fatal(err)
				}
				m, _, err := wire.NewReader(st).Read()
				if p, ok := m.(*wire.Piece); ok && err == nil && (p.Errno == 0 || len(p.Data) > 0) {
					n.t.Errorf("%s reads %s of %d: %d bytes", user.Name, path, pid, len(p.Data))
				}
				st.Close()
			}
		}
	}
	for _, m := range []wire.Message{new(wire.ListProcs), &wire.Enroll{Version: wire.Version}, &wire.Revoke{Version: wire.Version}, &wire.Run{Version: wire.Version}, &wire.SetNodes{Version: wire.Version}} {
		st, err := n.view(n.t.Context(), cluster.Root)
		if err == nil {
			err = wire.Write(st, 0, m)
		}
		if err != nil {
			n.t.Fatal(err)
		}
		if got, _, err := wire.NewReader(st).Read(); err == nil && got.Type() != wire.TypeFailed && got.Type() != wire.TypeRefused {
			n.t.Errorf("%T of a node is answered by %T", m, got)
		}
		st.Close()
	}
}

func eventsAgain(n *falseNode, _ *witness) {
	cmd, l := n.runs(cluster.Alice)
	end := l.event(wire.EventExited)
	end.Status = 3 << 8
	n.tell(end)
	l.stream.Close()
	if awaitEnd(n.t, cmd); cmd.ProcessState.ExitCode() != 3 {
		n.t.Errorf("exit code %d, want 3", cmd.ProcessState.ExitCode())
	}
	n.tell(end, l.event(wire.EventSpawned), end)
	n.told()
	n.last = 0
	n.tell(end)
	n.closed()
}

func eventsAhead(n *falseNode, w *witness) {
	_, l := n.runs(cluster.Alice)
	n.say(&wire.Events{First: n.last + 1000, Events: []wire.Event{l.event(wire.EventStopped)}})
	n.closed()
	for _, first := range []uint64{0, 2, 1 << 63, 1<<64 - 1} {
		n.connect(&wire.Inventory{Again: 3})
		n.say(&wire.Events{First: first, Events: make([]wire.Event, 3)})
		n.closed()
	}
	n.connect(&wire.Inventory{Again: 1 << 63})
	n.closed()
}

func outOfOrder(n *falseNode, _ *witness) {
	_, l := n.launch(cluster.Alice)
	exited, stopped := l.event(wire.EventExited), l.event(wire.EventStopped)
	stopped.Status = wire.Status(unix.SIGSTOP)
	child := wire.Event{Kind: wire.EventForked, PID: n.number(7), Parent: l.spawn.PID, PGID: l.spawn.PGID, SID: l.spawn.SID, Birth: 5}
	n.tell(stopped, l.event(wire.EventContinued), l.event(wire.EventZombie), child, exited, l.event(wire.EventSpawned), child, child, exited,
		wire.Event{Kind: wire.EventExited, PID: child.PID, Birth: 6}, wire.Event{Kind: wire.EventExited, PID: child.PID, Birth: 5}, child)
	n.maybeTold()
	_, l = n.runs(cluster.Alice)
	n.say(&wire.Leaving{Empty: true})
	n.tell(l.event(wire.EventSpawned), wire.Event{Kind: wire.EventForked, PID: n.number(8), Parent: l.spawn.PID, Birth: 8})
	n.say(new(wire.Leaving))
	n.maybeTold()
}

func wrongDirections(n *falseNode, w *witness) {
	for _, m := range []wire.Message{
		&wire.Signal{PID: wire.PID(w.r.ghost), Info: make([]byte, 128)}, &wire.BlocksGranted{Blocks: []wire.Block{{First: 1 << 21, Count: 4096}}},
		new(wire.KillAll), &wire.HangUp{PID: wire.PID(w.r.ghost)}, new(wire.Return), new(wire.Progress), &wire.Budget{Tasks: 1}, new(wire.Renew), new(wire.RenewReply),
		&wire.Run{Version: wire.Version}, new(wire.Spawn), new(wire.Started), new(wire.Attach), new(wire.Resume), new(wire.Resumed),
		&wire.ListNodes{Version: wire.Version}, &wire.Enroll{Version: wire.Version}, &wire.Revoke{Version: wire.Version}, new(wire.Token), new(wire.Done),
		new(wire.GhostHello), &wire.GhostExit{PID: wire.PID(w.r.ghost)}, &wire.GhostGone{PID: wire.PID(w.r.ghost)}, &wire.GhostSignal{PID: wire.PID(w.r.ghost), Info: make([]byte, 128)},
		new(wire.InitReady), new(wire.InitKillAll), new(wire.Changed), new(wire.Hello), new(wire.Welcome), new(wire.Refused), new(wire.Inventory), new(wire.Viewer),
	} {
		if n.isOver() {
			n.again()
		}
		n.say(m)
		n.closed()
	}
	for _, m := range []wire.Message{new(wire.Events), new(wire.Viewer), new(wire.Leaving)} { // not an inventory
		n.dial()
		n.say(m)
		n.closed()
	}
	for _, text := range []string{strings.Repeat("\xff", 100), strings.Repeat("\x00", 100), "\x3e\x00\x00\x00\xff\xff\xff\xff", "\x3e\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xdd\x0f\xff\xff\xff"} {
		n.dial()
		_, _ = n.control.Write([]byte(text)) // the master may have closed it
		n.control.Close()
		n.closed()
	}
}

func wrongStreams(n *falseNode, w *witness) {
	for _, m := range []wire.Message{
		new(wire.Spawn), new(wire.Started), new(wire.Failed), new(wire.Resume), &wire.Resumed{Taken: 1 << 60}, new(wire.Events), new(wire.Inventory), new(wire.Piece), new(wire.Signal), nil,
	} {
		cmd, l := n.runs(cluster.Alice)
		if m != nil {
			_ = wire.Write(l.stream, 1<<62, m) // it may be closed by then
		} else {
			_, _ = l.stream.Write(wire.AppendData(nil, wire.TypeStdin, 0, []byte("input")))
			_, _ = l.stream.Write(wire.AppendData(nil, wire.TypeStdinTaken, 1<<60, nil))
			_, _ = l.stream.Write(wire.AppendData(nil, wire.TypeStdout, 1<<60, []byte("after events that never come")))
		}
		n.tell(l.event(wire.EventExited))
		l.stream.Close()
		if m != nil {
			awaitEnd(n.t, cmd)
		}
	}
	for _, m := range []wire.Message{new(wire.Changed), &wire.Look{Version: wire.Version}, new(wire.Inventory), new(wire.Spawn)} { // instead of Viewer
		st, err := n.session.Open(n.t.Context())
		if err == nil {
			err = wire.Write(st, 0, m)
		}
		if err != nil {
			n.t.Fatal(err)
		}
		if got, _, err := wire.NewReader(st).Read(); err == nil && got.Type() != wire.TypeFailed && got.Type() != wire.TypeRefused {
			n.t.Errorf("%T is answered by %T", m, got)
		}
		st.Close()
	}
}

// silentSessions begins sessions and says nothing. Each ends when there is another.
func silentSessions(n *falseNode, _ *witness) {
	n.leave()
	n.dial()
	for range 3 {
		former := n.ended
		defer n.stop()
		n.dial()
		select {
		case <-former:
		case <-time.After(lineTimeout):
			n.t.Fatal("the master has not closed the former session")
		}
		if says := "has begun another session"; !strings.Contains(n.err.Error(), says) {
			n.t.Errorf("the session has ended: %v; it was to say %q", n.err, says)
		}
	}
}

// forgedLaunches asks for processes in the name of processes of the other node and of the front
// end, and for the processes that they have started.
func forgedLaunches(n *falseNode, w *witness) {
	for _, pid := range append(n.others(w), 0, 1, -1) {
		for _, m := range []wire.Message{
			&wire.Run{Version: wire.Version, Command: wire.Command{Argv: []string{"touch", "/forged"}}, Launch: 1},
			&wire.Run{Version: wire.Version, Ghost: wire.PID(w.r.ghost), Command: wire.Command{Argv: []string{"touch", "/forged"}}, Launch: 1, Again: true},
			&wire.Attach{Version: wire.Version, Ghost: wire.PID(w.r.ghost)},
		} {
			st, err := n.session.Open(n.t.Context())
			if err == nil {
				err = errors.Join(wire.Write(st, 0, &wire.Viewer{PID: pid}), wire.Write(st, 0, m))
			}
			if err != nil {
				n.t.Fatal(err)
			}
			if got, _, err := wire.NewReader(st).Read(); err == nil && got.Type() != wire.TypeFailed && got.Type() != wire.TypeRefused {
				n.t.Errorf("%T in the name of %d is answered by %T", m, pid, got)
			}
			st.Close()
		}
	}
}

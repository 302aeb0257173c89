package core

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// A move is an action of the hostile node, its clients or the world.
type move func(*arena)

// sends has the hostile node send a message.
func (a *arena) sends(m wire.Message) {
	a.calls++
	a.fromNode(a.session(), a.calls, m)
}

func moveEvents(a *arena) {
	m := &wire.Events{First: a.session().last + 1}
	if a.next()%16 == 15 {
		m.First = uint64(a.next())
	}
	for range 1 + a.count() {
		m.Events = append(m.Events, a.anyEvent())
	}
	a.sends(m)
}

// moveInventory begins another session, as slaveConn does.
func moveInventory(a *arena) {
	if a.next()%2 != 0 {
		a.step(NodeLost{a.session().id, ErrUnexpected})
	}
	inventory := wire.Inventory{PIDs: a.anyPIDs(), Starting: a.anyPIDs(), Stopped: a.anyPIDs(), Parents: a.anyPIDs(), Blocks: a.anyBlocks()}
	for _, pid := range inventory.PIDs[:min(len(inventory.PIDs), a.count())] {
		inventory.Births = append(inventory.Births, a.birthOf(pid))
	}
	var again []wire.Event
	for range a.count() {
		again = append(again, a.anyEvent())
	}
	if pidmap.Validate(inventory.Blocks) != nil {
		return
	}
	inventory.Again = uint64(len(again))
	a.begins(inventory, again)
}

// begins begins another session of node 0, unless it is refused.
func (a *arena) begins(inventory wire.Inventory, again []wire.Event) {
	a.names++
	if a.comes(fmt.Sprintf("%s%d", hostile, a.names), 0, inventory, again) != nil {
		a.names-- // the former session stays
	}
}

func moveBlocksWanted(a *arena) {
	a.sends(&wire.BlocksWanted{Blocks: []uint32{0, 1, 16, 1<<32 - 1}[a.next()%4]})
}

func moveBlocksReturned(a *arena) { a.sends(&wire.BlocksReturned{Blocks: a.anyBlocks()}) }

func moveLeaving(a *arena) { a.sends(&wire.Leaving{Empty: a.next()%2 == 0}) }

func moveSignalsTaken(a *arena) {
	m := &wire.SignalsTaken{Boot: uint64(a.next() % 2)}
	for range a.count() {
		m.Marks = append(m.Marks, wire.Mark{PID: a.anyPID(), Seq: uint64(a.next() % 4)})
	}
	a.sends(m)
}

// moveBounded has the node report that it keeps to a bound, either the one that it was told last,
// or any other.
func moveBounded(a *arena) {
	m := &wire.Bounded{UID: uint32(a.next()%3) * 1000, Group: uint64(6 + a.next()%4), Tasks: uint64(a.next())}
	if m.Tasks%2 != 0 {
		told := a.core.allotments[allotmentKey{uid: m.UID, group: a.core.taskGroups[m.Group], node: 0}]
		if told != nil {
			m.Tasks = told.told
		}
	}
	a.sends(m)
}

func moveCall(a *arena) {
	m := &wire.Call{Caller: a.anyPID(), Op: wire.CallOp(a.next() % 12)}
	args := arguments[m.Op].count
	if b := a.next(); b%4 == 0 {
		args = int(b / 4 % 4)
	}
	for range args {
		if b := a.next(); b%2 == 0 {
			m.Args = append(m.Args, int64(b/2))
		} else {
			m.Args = append(m.Args, int64(a.anyPID()))
		}
	}
	m.Info = make([]byte, arguments[m.Op].info)
	if b := a.next(); b%4 == 0 {
		m.Info = make([]byte, []int{0, wire.SizeofSiginfo, wire.SizeofSiginfo - 1}[b/4%3])
	}
	if a.next()%8 == 0 { // the same call again
		a.calls--
	}
	a.sends(m)
}

// moveWrong has the node send a message that is not one of a node.
func moveWrong(a *arena) {
	wrong := []wire.Message{new(wire.KillAll), new(wire.Run), new(wire.Inventory), new(wire.GhostDone), new(wire.Signal), new(wire.Viewer)}
	a.sends(wrong[int(a.next())%len(wrong)])
}

// moveRun has a client of user 1000 ask for a process.
func moveRun(a *arena) {
	who := Caller{PID: a.anyPID(), UID: 1000, GID: 1000}
	if who.PID <= 0 || who.PID == 200 {
		who.PID = 100 // the kernel says who it is
	}
	b, pid := a.next(), a.anyPID()
	node := wire.NodeID(0)
	if b>>4 == 0 {
		node = wire.NodeID(b%4) - 1
	}
	a.launch(Run{Who: who, Node: node, PID: pid, Launch: a.birthOf(pid), HangUp: b&4 != 0, Again: b&8 != 0})
}

// moveAttach has a client of user 1000 ask for a node, and come back for a process that it has.
func moveAttach(a *arena) {
	a.clients++
	a.step(Attach{Client: a.clients, Node: wire.NodeID(a.next()%4) - 1})
	if p := a.core.procs[a.anyPID()]; p != nil && p.uid == 1000 {
		a.clients++
		a.step(ClientAttached{Session: p.sess.id, Client: a.clients, PID: p.pid, Launch: a.birthOf(p.pid), HangUp: a.next()%2 == 0})
	}
}

func moveLeft(a *arena) {
	if p := a.core.procs[a.anyPID()]; p != nil && p.uid == 1000 {
		a.step(ClientLeft{Client: p.client, PID: p.pid})
	}
}

func moveSetNode(a *arena) {
	mode, id, state := uint32(a.next()), uint32(a.next()), []string{"down", "up", "boot", "", "no state\n"}[a.next()%5]
	drain, trust := a.next()%2 == 0, []string{"full", "limited", ""}[a.next()%3]
	m := wire.SetNodes{Nodes: []wire.NodeID{wire.NodeID(a.next()%4) - 1}}
	switch a.next() % 6 {
	case 0:
		m.Mode = &mode
	case 1:
		m.UID = &id
	case 2:
		m.GID = &id
	case 3:
		m.State = &state
	case 4:
		m.Drain = &drain
	case 5:
		m.Trust = &trust
	}
	a.set(Caller{PID: 100, UID: 1000, GID: 1000}, m)
}

// moveKeeper has the keeper answer, or report a signal to a ghost of the hostile node.
func moveKeeper(a *arena) {
	if b := a.next(); b%4 != 0 {
		for range b % 8 {
			a.answerNext([]unix.Errno{0, 0, 0, unix.ESRCH, unix.EEXIST, unix.EPERM}[a.next()%6])
		}
		return
	}
	pid := a.anyPID()
	if p := a.core.procs[pid]; p == nil || p.node != 0 || !p.ghost {
		return
	}
	sig := unix.Signal(1 + a.next()%64)
	a.step(FromKeeper{0, &wire.GhostSignal{PID: pid, Info: wire.KernelSignal(sig), Seq: uint64(a.next())}})
}

func moveTime(a *arena) {
	a.now = a.now.Add([]time.Duration{time.Second, testLease / 2, testLease + LeaseMargin + time.Second}[a.next()%3])
	a.step(Tick{})
	a.step(News{})
}

func moveCut(a *arena) {
	if a.next()%2 == 0 {
		a.step(NodeHealed{Session: a.session().id})
	} else {
		a.step(NodeCut{a.session().id})
	}
}

// moveLaunch has a process started on node 0, which reports that it runs. A node without a session
// comes back first.
func moveLaunch(a *arena) {
	if s := a.session(); s.ended {
		a.begins(wire.Inventory{}, nil)
	}
	pid := []wire.PID{4711, 4713, 4714}[a.next()%3]
	a.launch(Run{Who: Caller{PID: 100, UID: 1000, GID: 1000}, PID: pid, Launch: uint64(pid)})
	for range len(a.asked) {
		a.answerNext(0)
	}
	a.sends(&wire.Events{First: a.session().last + 1, Events: []wire.Event{{Kind: wire.EventSpawned, PID: pid, Birth: uint64(pid)}}})
}

// moveKeeperDies replaces the keeper by another one, which holds all ghosts.
func moveKeeperDies(a *arena) {
	var held []wire.PID
	for pid, p := range a.core.procs {
		if p.ghost {
			held = append(held, pid)
		}
	}
	slices.Sort(held)
	a.keeperBack(held, nil)
}

// world are moves that may come in between in any sequence.
var world = []move{moveKeeper, moveKeeper, moveKeeper, moveKeeper, moveLaunch, moveLaunch, moveLaunch, moveTime, moveCut, moveKeeperDies}

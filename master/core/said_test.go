package core

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// toKeeper notes a message of the core to the keeper.
func (s *script) toKeeper(o ToKeeper) {
	if s.lost {
		return
	}
	name, rest := request(o.Message)
	if o.Number != 0 {
		s.asked = append(s.asked, question{o.Number, name})
	}
	s.say("keeper: %s", strings.TrimSpace(name+" "+rest))
}

// request describes a message to the keeper: its name with the process that it is about, and the
// rest.
func request(m wire.Message) (name, rest string) {
	switch m := m.(type) {
	case *wire.GhostAdopt:
		return fmt.Sprintf("GhostAdopt %d", m.PID), fmt.Sprintf("parent %d uid %d", m.Parent, int32(m.UID))
	case *wire.GhostFork:
		if m.Sibling {
			return fmt.Sprintf("GhostFork %d", m.Child), fmt.Sprintf("sibling of %d", m.Parent)
		}
		return fmt.Sprintf("GhostFork %d", m.Child), fmt.Sprintf("parent %d", m.Parent)
	case *wire.GhostExec:
		return fmt.Sprintf("GhostExec %d", m.PID), fmt.Sprint(m.Argv)
	case *wire.GhostJoin:
		return fmt.Sprintf("GhostJoin %d", m.PID), fmt.Sprintf("pgid %d sid %d", m.PGID, m.SID)
	case *wire.GhostExit:
		if m.Zombie {
			return fmt.Sprintf("GhostExit %d", m.PID), fmt.Sprintf("as a zombie, status %d", m.Status)
		}
		if sig, ok := m.Status.Signaled(); ok {
			return fmt.Sprintf("GhostExit %d", m.PID), "by " + unix.SignalName(unix.Signal(sig))
		}
		return fmt.Sprintf("GhostExit %d", m.PID), fmt.Sprintf("exit %d", m.Status.ExitCode())
	case *wire.GhostStop:
		return fmt.Sprintf("GhostStop %d", m.PID), "by " + unix.SignalName(unix.Signal(m.Signal))
	case *wire.GhostCont:
		return fmt.Sprintf("GhostCont %d", m.PID), ""
	case *wire.GhostUser:
		return fmt.Sprintf("GhostUser %d", m.PID), fmt.Sprintf("user %s group %s", numbers(m.User), numbers(m.Group))
	case *wire.GhostTrait:
		return fmt.Sprintf("GhostTrait %d", m.PID), fmt.Sprintf("%s %d", traits[m.Option], m.Value)
	case *wire.GhostCall:
		return fmt.Sprintf("GhostCall %d", m.PID), fmt.Sprintf("%s%d", callName(m.Op), m.Args)
	case *wire.GhostTaken:
		return fmt.Sprintf("GhostTaken %d", m.Marks), ""
	case *wire.GhostSync:
		return fmt.Sprintf("GhostSync %d", m.PID), ""
	}
	return fmt.Sprintf("%T", m), ""
}

// traits are the names of the options of GhostTrait.
var traits = map[uint32]string{unix.PR_SET_CHILD_SUBREAPER: "subreaper", unix.PR_SET_PDEATHSIG: "death signal"}

func numbers(ids wire.IDs) string {
	return fmt.Sprintf("%d/%d/%d", int32(ids.Real), int32(ids.Effective), int32(ids.Saved))
}

// toNode notes a message of the core to a slave.
func (s *script) toNode(o ToNode) {
	name := s.names[o.Session]
	if r, ok := o.Message.(*wire.Return); ok {
		s.say("%s: Return %d: %s", name, o.Number, result(r))
		return
	}
	s.say("%s: %s", name, order(o.Message))
}

// result describes the result of a call.
func result(m *wire.Return) string {
	if m.Errno != 0 {
		return unix.ErrnoName(unix.Errno(m.Errno))
	}
	return strconv.FormatInt(m.Value, 10)
}

// order describes a message to a slave.
func order(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Signal:
		text := fmt.Sprintf("Signal %d %s", m.PID, unix.SignalName(unix.Signal(binary.LittleEndian.Uint32(m.Info))))
		if m.Group {
			text += fmt.Sprintf(" for the group, seen by %d", m.Seen)
		}
		return text
	case *wire.BlocksGranted:
		text := "BlocksGranted"
		for _, b := range m.Blocks {
			text += fmt.Sprintf(" %d+%d", b.First, b.Count)
		}
		return text
	case *wire.Reparent:
		return fmt.Sprintf("Reparent %d to %d", m.PID, m.Parent)
	case *wire.HangUp:
		return fmt.Sprintf("HangUp %d", m.PID)
	case *wire.Progress:
		return fmt.Sprintf("Progress %d", m.Event)
	case *wire.Budget:
		if m.Group != 0 {
			return fmt.Sprintf("Budget of user %d in group %d: %d", m.UID, m.Group, m.Tasks)
		}
		return fmt.Sprintf("Budget of user %d: %d", m.UID, m.Tasks)
	case *wire.KillAll:
		return "KillAll"
	case *wire.Power:
		return "Power " + m.Action
	case *wire.Renew:
		return "Renew"
	case *wire.RenewReply:
		return fmt.Sprintf("RenewReply %s", m.Certificate)
	}
	return fmt.Sprintf("%T", m)
}

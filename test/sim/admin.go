package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	slave "bproc/slave/core"
	"bproc/wire"
)

// line is what an administrator knows of a node: every change that was confirmed stays, also with
// the next master.
type line struct {
	name          string
	trust, labels string
	mode, uid     uint32
	drain, down   bool
}

// admins is the client number of administrators, who wait for each answer.
const admins core.Client = 1 << 40

// administer makes an administrator act.
func (s *Sim) administer() {
	n := pick(s.rng, s.nodes)
	switch s.rng.IntN(16) {
	case 0:
		s.setState(n, pick(s.rng, []string{"down", "up", "up", "unavailable", "maintenance", "boot", "Bad!", "reboot", "halt", "pwroff"}))
	case 1, 2, 3:
		s.setState(n, "up")
	case 4, 5:
		drain := s.chance(3)
		s.set(n, wire.SetNodes{Drain: &drain})
	case 6:
		mode := pick(s.rng, []uint32{0o111, 0o110, 0o111, 0o777})
		s.set(n, wire.SetNodes{Mode: &mode})
	case 7:
		uid := pick(s.rng, []uint32{0, 1000})
		s.set(n, wire.SetNodes{UID: &uid, GID: &uid})
	case 8:
		s.set(n, wire.SetNodes{Set: []string{pick(s.rng, []string{"gpu", "rack=4", "rack=5", "cpus=1", "no label"})}})
	case 9:
		s.set(n, wire.SetNodes{Remove: []string{pick(s.rng, []string{"gpu", "rack", "!"})}})
	case 10:
		if s.chance(8) {
			s.revoke(n)
		}
	case 11:
		if s.chance(4) {
			s.joinsAnew(n)
		}
	case 12:
		s.joinsOther()
	case 13:
		s.configure()
	case 14:
		n.saysHardware()
	default:
		s.look()
	}
}

// set changes nodes, as root or as a user who may lack the right. Changes that are confirmed are
// recorded.
func (s *Sim) set(n *node, m wire.SetNodes) {
	who := core.Caller{}
	if s.chance(4) {
		who = core.Caller{UID: 1000, GID: 1000}
	}
	m.Nodes = []wire.NodeID{n.id, n.id}
	if m.Trust == nil && s.chance(4) {
		m.Nodes = append(m.Nodes, pick(s.rng, s.nodes).id, wire.FrontEnd, 77)
	}
	s.replied = nil
	s.step(core.SetNodes{Client: admins, Who: who, Change: m})
	reply, ok := s.replied.(*wire.NodesSet)
	if !ok {
		s.fail("a change of nodes is answered by %T", s.replied)
		return
	}
	for _, id := range m.Nodes {
		failed := slices.ContainsFunc(reply.Failed, func(f wire.NodeFailed) bool { return f.ID == id })
		if id < 0 || int(id) >= len(s.nodes) {
			if !failed {
				s.fail("a change of node %d is said to be done, and there is none", id)
			}
			continue
		}
		if !failed {
			s.nodes[id].isSet(who, m)
		}
	}
}

// isSet records a confirmed change.
func (n *node) isSet(who core.Caller, m wire.SetNodes) {
	l := &n.line
	only := m.State == nil && m.UID == nil && m.Drain == nil && m.Set == nil && m.Remove == nil && m.Trust == nil
	if who.UID != 0 && (who.UID != l.uid || !only) {
		n.sim.fail("user %d changes node %d, and may not: %+v", who.UID, n.id, m)
	}
	if m.Mode != nil {
		l.mode = *m.Mode
	}
	if m.UID != nil {
		l.uid = *m.UID
	}
	if m.Trust != nil {
		l.trust = *m.Trust
	}
	if m.Drain != nil {
		l.drain = *m.Drain
	}
	if m.State != nil {
		l.down = *m.State == "down"
	}
	n.sets++
	l.label(m)
	n.sim.note("node %d is %+v", n.id, *l)
}

func (l *line) label(m wire.SetNodes) {
	by := map[string]string{}
	for _, label := range append(strings.Fields(l.labels), m.Set...) {
		name, _, _ := strings.Cut(label, "=")
		by[name] = label
	}
	for _, name := range m.Remove {
		delete(by, name)
	}
	l.labels = ""
	for _, name := range slices.Sorted(maps.Keys(by)) {
		l.labels = strings.TrimSpace(l.labels + " " + by[name])
	}
}

func (s *Sim) setState(n *node, state string) { s.set(n, wire.SetNodes{State: &state}) }

// checkLines compares the node table with what administrators were told.
func (s *Sim) checkLines() {
	for _, n := range s.core.NodeList() {
		if int(n.ID) >= len(s.nodes) {
			continue
		}
		want, got := s.nodes[n.ID].line, line{
			name: n.Name, trust: n.Trust, labels: strings.Join(n.Labels, " "), mode: n.Mode, uid: n.UID,
			drain: s.nodes[n.ID].line.drain, down: s.nodes[n.ID].line.down,
		}
		if rootsOnly(n.State) {
			got.mode, got.uid = want.mode, want.uid
		}
		if got != want {
			s.fail("node %d is %+v, and was said to be %+v", n.ID, got, want)
		}
		if connected := s.core.Admit(s.nodes[n.ID].key()); (connected == core.SetDown) != want.down && connected != core.Unknown {
			s.fail("node %d is set down: %v, and may connect: %v", n.ID, want.down, connected)
		}
	}
}

func rootsOnly(state string) bool {
	return slices.Contains([]string{"boot", "error", "unavailable"}, state)
}

// isLimited reports whether a node has limited trust.
func (n *node) isLimited() bool { return n.line.trust != "full" }

// revoke revokes a node whose machine is lost.
func (s *Sim) revoke(n *node) {
	s.fault("revoke", n.id)
	n.wipe()
	s.replied = nil
	s.step(core.Revoke{Client: admins, Node: n.id})
	if _, done := s.replied.(*wire.Done); done {
		n.loseSession("")
		n.revoked = true
		n.line.trust = "limited"
	} else {
		n.loseSession("")
	}
	s.step(core.Revoke{Client: admins, Node: 99})
}

// joinsAnew makes another machine join as a node. It is refused if the node's former machine is
// connected.
func (s *Sim) joinsAnew(n *node) {
	n.identity++
	in := core.Join{Client: admins, Identity: n.key(), Host: n.line.name, Want: n.id, Addr: "10.0.0.1"}
	if n.revoked && s.chance(2) && s.named(n.line.name) == 1 {
		in.Want, in.Name = -1, n.line.name
	}
	n.identity--
	connected := n.isConnected() && !n.revoked
	if !connected && !n.revoked {
		n.loseSession("")
		n.wipe() // the former machine is gone: wiped
	}
	s.joined = nil
	s.step(in)
	switch j := s.joined; {
	case j == nil:
		s.fail("a machine that joins is not answered")
	case j.Err != nil:
	case connected:
		s.fail("a machine takes the place of node %d, which is connected", n.id)
	case j.Node != n.id:
		s.fail("a machine that is to be node %d becomes node %d", n.id, j.Node)
	default:
		s.fault("join", n.id)
		n.loseSession("")
		n.wipe()
		n.identity++
		n.revoked, n.home, n.line.trust = false, j.Home, "limited"
	}
}

// named returns how many nodes have a name. If two have it, a machine that joins with it becomes
// the one without an identity.
func (s *Sim) named(name string) (count int) {
	for _, n := range s.core.NodeList() {
		if n.Name == name {
			count++
		}
	}
	return count
}

// isConnected reports whether the master has a connection to a node.
func (n *node) isConnected() bool {
	return n.link != nil && n.link.known && !n.link.isCut && !n.link.closed
}

// joinsOther makes a machine join that never connects, and removes its node again.
func (s *Sim) joinsOther() {
	in := core.Join{Client: admins, Identity: fmt.Sprint("other ", s.others), Host: pick(s.rng, []string{"other", "node 0"}), Want: -1, Addr: fmt.Sprint("10.0.1.", s.rng.IntN(2))}
	if s.chance(3) {
		in.Name = "other"
	}
	if s.chance(5) {
		in.Again = []wire.NodeID{wire.NodeID(s.rng.IntN(6))}
	}
	s.joined = nil
	s.others++
	s.step(in)
	if j := s.joined; j != nil && j.Err == nil {
		if int(j.Node) < len(s.nodes) {
			s.nodes[j.Node].isTaken(in.Identity, j)
			return
		}
		s.step(core.Revoke{Client: admins, Node: j.Node})
	}
}

// isTaken records that another machine has become a node.
func (n *node) isTaken(identity string, j *core.Joined) {
	if n.isConnected() {
		n.sim.fail("%s becomes node %d, which is connected", identity, n.id)
	}
	n.loseSession("")
	n.wipe()
	n.revoked, n.home, n.line.trust = true, j.Home, "limited"
}

// configure changes the configuration of the master.
func (s *Sim) configure() {
	in := core.Configure{
		Rights: core.Rights{Mode: 0o111}, Squash: nobody, PowerTime: powerTime, SetUp: s.setUps, Ghosts: s.ghosts,
		Named: []core.Named{{ID: 5, Name: "later", Addr: "10.0.1.1"}},
	}
	if s.chance(2) {
		in.Named = nil
	}
	if s.chance(4) {
		s.setUps = !s.setUps
		in.SetUp = s.setUps
	}
	s.step(in)
}

func (n *node) saysHardware() {
	if n.link != nil && n.link.known {
		n.sim.step(core.HardwareRead{Session: n.link.id, Hardware: &wire.Hardware{CPUs: 8, Kernel: "6.1"}})
	}
}

// powerTime is the time within which a node goes down that was told to.
const powerTime = 20 * time.Second

// toPower handles a request to reboot, to halt or to switch the node off. The node does so, or
// refuses, or does not answer.
func (n *node) toPower(m *wire.Power) {
	n.sim.note("node %d is to %s", n.id, m.Action)
	if len(n.procs) > 0 && n.sim.now.Sub(n.heard) < core.LeaseMargin {
		n.sim.note("which has %d processes", len(n.procs))
	}
	switch n.sim.rng.IntN(3) {
	case 0:
		n.goesDown = true
	case 1:
		n.slave.say(&wire.Powered{Action: m.Action, Text: "it\tcannot"})
	}
}

// hangUp ends the processes of a session whose client has left.
func (n *node) hangUp(m *wire.HangUp) {
	for _, p := range n.inOrder() {
		if m.Session && p.session == m.PID && p.runs {
			n.end(p, wire.SignalStatus(int(unix.SIGHUP)))
		}
	}
}

// bars reports whether a user may not start processes on a node.
func (l *line) bars(uid uint32) bool {
	switch {
	case l.drain && uid != 0 || l.down: // root may set up a node that is drained
		return true
	case uid == l.uid:
		return uid != 0 && l.mode&0o100 == 0
	}
	return uid != 0 && l.mode&0o001 == 0
}

// leaves ends a slave that was told to end with all processes, once they have ended.
func (n *node) leaves() {
	switch {
	case n.slave == nil || n.link == nil:
		n.leaving = false
	case len(n.procs)+len(n.init.in)+len(n.link.up) == 0 && n.link.known && !n.slave.busy() && !n.link.isCut:
		n.sim.fault("slave leaves", n.id)
		n.sim.step(core.FromNode{Session: n.link.id, Message: &wire.Leaving{Empty: true}})
		n.loseSession("")
		n.empty()
	}
}

// leave tells a slave to end.
func (n *node) leave() {
	if n.slave == nil || n.link == nil || n.leaving {
		return
	}
	n.leaving = true
	n.slave.say(&wire.Leaving{})
	n.slave.step(slave.EndAll{})
}

// administerCalmly only looks, for runs without faults.
func (s *Sim) administerCalmly() {
	if s.peaceful {
		s.look()
	} else {
		s.administer()
	}
}

// allUp makes administrators set all nodes up.
func (s *Sim) allUp() {
	for _, is := range s.core.NodeList() {
		if int(is.ID) >= len(s.nodes) || is.State == "up" {
			continue
		}
		n, up, drain := s.nodes[is.ID], "up", false
		if s.scripts[n.id] == 0 {
			s.set(n, wire.SetNodes{State: &up, Drain: &drain})
		}
	}
}

var errStore = errors.New("no space left on device")

// misbehaves makes a node send an invalid message: its session ends.
func (n *node) misbehaves() {
	if l := n.link; l != nil && l.known && !l.closed && n.sim.chance(2) {
		n.sim.fault("wrong message", n.id)
		m := pick(n.sim.rng, []wire.Message{&wire.Done{}, &wire.Events{First: 1 << 30, Events: []wire.Event{{}}}, &wire.RenewRequest{}})
		n.sim.step(core.FromNode{Session: l.id, Message: m})
	}
}

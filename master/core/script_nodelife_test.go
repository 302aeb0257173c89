package core

import (
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// setUps is "script yes" or "script no": whether nodes that connect from now on are set up.
func (s *script) setUps(args []string) { s.core.config.SetUp = args[0] == "yes" }

// setUpEnds is NODE [before] [WORD...]: the script of a node, or that of the attempt before, has
// ended; the words say why it has failed.
func (s *script) setUpEnds(args []string) {
	id := wire.NodeID(s.number(args[0]))
	attempt, why := s.attempts[id], args[1:]
	if len(why) > 0 && why[0] == "before" {
		attempt, why = attempt-1, why[1:]
	}
	s.step(SetUpDone{Node: id, Attempt: attempt, Failed: strings.Join(why, " ")})
}

// powered is SESSION ACTION [WORD...]: a node reports the end of its command.
func (s *script) powered(args []string) {
	s.fromNode(s.session(args[0]), 0, &wire.Powered{Action: args[1], Text: strings.Join(args[2:], " ")})
}

// toSetUp prints what happens to scripts.
func (s *script) toSetUp(o Output) {
	switch o := o.(type) {
	case SetUp:
		s.attempts[o.Node] = o.Attempt
		s.say("script of node %d begins", o.Node)
	case StopSetUp:
		s.say("script of node %d is stopped", o.Node)
	}
}

// powerOn is ID: whether the node may be switched on.
func (s *script) powerOn(args []string) {
	name, errno, why := s.core.MayPowerOn(wire.NodeID(s.number(args[0])))
	if errno != 0 {
		s.say("%s", strings.TrimSpace(unix.ErrnoName(errno)+" "+why))
		return
	}
	s.say("switch on %q", name)
}

// restart begins another master, which knows what was kept, and waits for no session.
func (s *script) restart([]string) {
	clear(s.sessions)
	cfg := s.core.config
	cfg.Named = nil
	s.begin(cfg)
}

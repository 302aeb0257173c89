package core

import (
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// events has a slave report events.
func (s *script) events(args []string) {
	sess := s.session(args[0])
	m := &wire.Events{First: sess.last + 1}
	text := strings.Join(args[1:], " ")
	if rest, ok := strings.CutPrefix(text, "from "); ok {
		number, rest, _ := strings.Cut(rest, ": ")
		m.First, text = uint64(s.number(number)), rest
	}
	for part := range strings.SplitSeq(text, "; ") {
		m.Events = append(m.Events, s.event(strings.Fields(part)))
	}
	s.fromNode(sess, 0, m)
}

// again keeps events that the next session reports again.
func (s *script) again(args []string) {
	for part := range strings.SplitSeq(strings.Join(args, " "), "; ") {
		s.retold = append(s.retold, s.event(strings.Fields(part)))
	}
}

func (s *script) taken(args []string) {
	mark := wire.Mark{PID: s.pid(args[1]), Seq: uint64(s.number(args[2]))}
	s.fromNode(s.session(args[0]), 0, &wire.SignalsTaken{Marks: []wire.Mark{mark}, Boot: uint64(s.option(args, "boot", 0))})
}

// kinds are the names of events.
var kinds = map[string]wire.EventKind{
	"Spawned": wire.EventSpawned, "Forked": wire.EventForked, "Execed": wire.EventExeced, "Exited": wire.EventExited,
	"Stopped": wire.EventStopped, "Continued": wire.EventContinued, "Grouped": wire.EventGrouped,
	"User": wire.EventUser, "Reaper": wire.EventReaper, "Death": wire.EventDeath, "Zombie": wire.EventZombie, "Unknown": 99,
}

// event is KIND PID [parent N] [maker N] [pgid N] [sid N] [exit CODE] [by SIGNAL] [status N] [stage N] [errno NAME]
// [argv WORD] [used US] [user N/N/N] [group N/N/N]
// [birth N].
func (s *script) event(args []string) wire.Event {
	kind, ok := kinds[args[0]]
	if !ok {
		s.Fatalf("no event %q", args[0])
	}
	e := wire.Event{
		Kind: kind, PID: s.pid(args[1]),
		Parent: wire.PID(s.option(args, "parent", 0)), Maker: wire.PID(s.option(args, "maker", 0)), PGID: wire.PID(s.option(args, "pgid", 0)), SID: wire.PID(s.option(args, "sid", 0)),
		Status: wire.ExitStatus(s.option(args, "exit", 0)), Stage: wire.Stage(s.option(args, "stage", 0)),
		Birth: s.birth(args[1], s.text(args, "birth")),
	}
	if word, ok := s.word(args, "by"); ok {
		e.Status = wire.Status(unix.SignalNum(word))
	}
	if word, ok := s.word(args, "status"); ok {
		e.Status = wire.Status(s.number(word))
	}
	e.User, e.Group = s.ids(args, "user"), s.ids(args, "group")
	if word, ok := s.word(args, "errno"); ok {
		e.Errno = uint32(s.errno([]string{word}))
	}
	if word, ok := s.word(args, "used"); ok {
		e.Usage = &wire.Usage{User: uint64(s.number(word))}
	}
	if word, ok := s.word(args, "argv"); ok {
		e.Argv = []string{word}
	}
	return e
}

// ids are REAL/EFFECTIVE/SAVED.
func (s *script) ids(args []string, name string) *wire.IDs {
	word, ok := s.word(args, name)
	if !ok {
		return nil
	}
	n := strings.Split(word, "/")
	return &wire.IDs{Real: uint32(s.number(n[0])), Effective: uint32(s.number(n[1])), Saved: uint32(s.number(n[2]))}
}

// adopt notes how a ghost was adopted, for the list of a keeper.
func (s *script) adopt(args []string) {
	s.adopted = append(s.adopted, wire.Adopted{PID: s.pid(args[0]), Parent: s.pid(args[1]), HangUp: s.text(args, "hangup") != "", Birth: uint64(s.option(args, "birth", 0)), Space: uint64(s.option(args, "space", 1))})
}

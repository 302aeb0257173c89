package core

import "bproc/wire"

// nest is NUMBER NODE by PID of SESSION [uid N] [gid N] [second N] [leads yes]: a process of a node
// wants to start one on another. The front end's kernel has NUMBER free, and then the second one.
func (s *script) nest(args []string) {
	first := s.pid(args[0])
	s.free = []wire.PID{first, wire.PID(s.option(args, "second", int(first)+1))}
	_, leads := s.word(args, "leads")
	from := s.text(args, "of")
	in := Run{
		Who:  Caller{PID: wire.PID(s.option(args, "by", 0)), UID: uint32(s.option(args, "uid", 1000)), GID: uint32(s.option(args, "gid", 1000)), Groups: []uint32{7}},
		Node: wire.NodeID(s.number(args[1])), Launch: s.birth(args[0], ""), HangUp: true, Report: true, Leads: leads, Argv: []string{"cmd"},
	}
	for id, name := range s.names {
		if name == from {
			in.From = id
		}
	}
	s.clients++
	in.Client = s.clients
	s.launches[first] = in
	s.step(in)
}

// nextFree returns the next number that the front end's kernel says to be free.
func (s *script) nextFree() wire.PID {
	next := s.free[0]
	if len(s.free) > 1 {
		s.free = s.free[1:]
	}
	return next
}

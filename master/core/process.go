package core

import (
	"bproc/wire"
)

// procState is where a process is in its life; see the package comment.
type procState uint8

const (
	adopting procState = iota // the keeper is asked to hold the ghost
	spawning                  // the slave is asked to start the process
	forking                   // the process runs, its ghost is being made
	running
	ending // the process has ended, its ghost has yet to end
)

// proc is a line of the process table.
type proc struct {
	pid     wire.PID
	birth   uint64 // as in wire.Event
	node    wire.NodeID
	uid     uint32 // real user, as its node says
	limit   uint64 // RLIMIT_NPROC of the ghost; 0: not known
	starter uint32 // user who has started it or its ancestor
	sess    *session
	state   procState
	launch  *launch  // started from the front end; nil once it runs, and for forked ones
	askedIn uint64   // the space of the node that was asked to start it; 0: no node was
	ghost   bool     // a ghost exists, or is being made
	unasked bool     // the keeper has not been asked yet to have the ghost made
	parent  wire.PID // the client that has started it; 0: not known
	hangUp  bool     // SIGHUP when the client leaves
	report  bool     // the client wants to be told of the end
	client  Client   // for a process started from the front end; 0: the client has yet to come back
	left    bool     // the client has left; its node was told, but may not know it
	signals signals

	allotment  *allotment // nil: nothing bounds it
	discharged bool       // it does not count in the allotment any more
	settling   bool       // the control groups of its ghost are being asked for

	rising  bool        // its ghost has been asked last to become root's, and may not be yet
	killed  bool        // SIGKILL has been sent
	claimed bool        // its ghost was an orphan, whose signals it has yet to get
	again   bool        // the keeper may hold the ghost already
	rivals  []*launch   // other launches that have named the ghost while it is adopted
	status  wire.Status // how it ended
	exits   bool        // a keeper has been asked to end the ghost
	stays   bool        // but this keeper held it when it came, and has yet to be asked again
	doubt   bool        // and has reported an end since: that of a former ghost, once more, or its own
	usage   *wire.Usage // what it has used; nil: not known
	lost    bool        // it has ended with all processes of its node

	stops    bool // it is stopped
	halted   bool // its ghost is stopped
	shifting int  // requests without an answer that make the ghost stop or continue
	conts    int  // how often the ghost has got SIGCONT

	former   *proc  // process that had this number before, and whose ghost has not ended
	blockers int    // count of what must be over before requests about the ghost go to the keeper
	waiting  []task // those requests
	after    []task // tasks that wait for the ghost's end

	sending bool       // its ghost is being made to send a signal
	toSend  []*call    // signals that it sends after that
	hearing bool       // the keeper is asked for the signals that the ghost has got
	toHear  []*hearing // calls that want it to be asked after that
}

// same reports whether two births may be the same.
func same(a, b uint64) bool { return a == b || a == 0 || b == 0 }

// is reports whether p is the process with this birth.
func (p *proc) is(birth uint64) bool { return same(p.birth, birth) }

// born returns the process with this birth: p or one that had its number before.
func (p *proc) born(birth uint64) *proc {
	for p != nil && !p.is(birth) {
		p = p.former
	}
	return p
}

// oldest returns the process of p's number whose ghost has the number.
func (p *proc) oldest() *proc {
	for p.former != nil {
		p = p.former
	}
	return p
}

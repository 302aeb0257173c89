package core

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// procState is where a process is in its life; see the package comment.
type procState uint8

const (
	adopting procState = iota // the keeper is asked to hold the ghost
	spawning                  // the slave is asked to start the process
	forking                   // the process runs, its ghost is being made
	running
	ending // the process has ended, its ghost is about to
)

// proc is a line of the process table.
type proc struct {
	pid     wire.PID
	birth   uint64 // as in wire.Event
	node    wire.NodeID
	uid     uint32 // real user, as its node says
	limit   uint64 // RLIMIT_NPROC of the ghost; 0: not known
	starter uint32 // user who has started it, or the process from which it descends
	sess    *session
	state   procState
	launch  *launch  // started from the front end; nil once it runs, and for forked ones
	ghost   bool     // a ghost exists, or is being made
	unasked bool     // the keeper has not been asked yet to have the ghost made
	parent  wire.PID // the client that has started it; 0: not known
	hangUp  bool     // SIGHUP when the client leaves
	report  bool     // the client wants to be told of the end
	client  Client   // of one that was started from the front end; 0: it is to come back
	left    bool     // the client has left, of which its node was told, if that has come there
	signals signals

	allotment  *allotment // nil: nothing bounds it
	discharged bool       // it does not count in it any more
	settling   bool       // the control groups of its ghost are asked for

	killed  bool        // SIGKILL has been sent
	claimed bool        // its ghost was an orphan, and it is yet to be told what that has got
	again   bool        // the keeper is asked again to hold the ghost
	rivals  []*launch   // of others that have named the ghost while it is adopted
	status  wire.Status // how it ended
	exits   bool        // a keeper has been asked to end the ghost
	stays   bool        // but this one held it when it came, and is yet to be asked again
	usage   *wire.Usage // what it has used; nil: not known

	stops    bool // it is stopped
	halted   bool // its ghost is
	shifting int  // requests that make the ghost stop or go on, without an answer
	conts    int  // how often the ghost has got SIGCONT

	former   *proc  // had this number before, and its ghost has not ended
	blockers int    // what must be over before requests about the ghost go to the keeper
	waiting  []task // those requests
	after    []task // what waits for the ghost's end

	sending bool       // its ghost is being made to send a signal
	toSend  []*call    // the signals that it sends after that
	hearing bool       // the keeper is asked for what it has got
	toHear  []*hearing // who wants it to be asked after that
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

// oldest returns the process of p's number whose ghost has it.
func (p *proc) oldest() *proc {
	for p.former != nil {
		p = p.former
	}
	return p
}

// sizeofSiginfo is the size of siginfo_t in bytes (sigaction(2)), and of what
// ptrace gives for it.
const sizeofSiginfo = 128

// kernelSignal returns the siginfo_t of a signal that nobody in particular sent.
func kernelSignal(sig unix.Signal) []byte {
	const siKernel = 0x80 // SI_KERNEL of asm-generic/siginfo.h
	info := make([]byte, sizeofSiginfo)
	binary.LittleEndian.PutUint32(info[0:], uint32(sig))
	binary.LittleEndian.PutUint32(info[8:], siKernel)
	return info
}

package master

import "errors"

// errHalfSent is the error when nobody knows whether a slave has got a Spawn.
var errHalfSent = errors.New("spawn was not sent as a whole")

// Why the master ends the session of a slave.
var (
	errUnknownNode = errors.New("the identity is not in the node table; enrol the node again")
	errReplaced    = errors.New("the same identity has connected anew")
	errLease       = errors.New("no word from the slave within lease and margin; its processes are dead")
	errOrder       = errors.New("events are not in order")
	errUnexpected  = errors.New("unexpected message")
	errEmptied     = errors.New("the node has come without numbers of its own; its processes have ended, and it may come anew")
)

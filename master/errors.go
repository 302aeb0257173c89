package master

import "errors"

// Why the master ends the session of a slave.
var (
	errUnknownNode = errors.New("the identity is not in the node table; enrol the node again")
	errReplaced    = errors.New("the same identity has connected anew")
	errLeft        = errors.New("the node has left")
	errLease       = errors.New("no word from the slave within lease and margin; its processes are dead")
	errOrder       = errors.New("events are not in order")
	errUnexpected  = errors.New("unexpected message")
	errEmptied     = errors.New("the node has come without numbers of its own; its processes have ended, and it may come anew")
)

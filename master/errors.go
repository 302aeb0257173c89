package master

import "errors"

// Why the master ends the session of a slave.
var (
	errUnknownNode = errors.New("the identity is not in the node table; enrol the node again")
	errReplaced    = errors.New("the same identity has connected anew")
	errLease       = errors.New("no word from the slave within lease and margin; its processes are dead")
	errOrder       = errors.New("events are not in order")
	errUnexpected  = errors.New("unexpected message")
	errSetDown     = errors.New("set down by an administrator")
	errStopping    = errors.New("the master is stopping")
)

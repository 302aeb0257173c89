package master

import "errors"

// Why the master ends the session of a slave.
var (
	errUnknownNode = errors.New("the identity of this node is not in the node table: it was revoked, or another has taken its place; enrol the node again: make a token with 'bpctl enroll' on the front end, and start bpslave with it")
	errRevoked     = errors.New("the identity of the node was revoked")
	errRejoined    = errors.New("the node has joined again with another identity")
	errDown        = errors.New("the node is set down (bpctl -s)")
	errReplaced    = errors.New("the same identity has connected anew")
	errLeft        = errors.New("the node has left")
	errLease       = errors.New("no word from the slave within lease and margin; its processes are dead")
	errOrder       = errors.New("events are not in order")
	errUnexpected  = errors.New("unexpected message")
	errEmptied     = errors.New("the node has come without numbers of its own; its processes have ended, and it may come anew")
)

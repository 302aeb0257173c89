package link

import "errors"

// Why there is no session, or no longer.
var (
	ErrClosed     = errors.New("link was closed")
	ErrNotResumed = errors.New("the master does not know the link any more")
	ErrProtocol   = errors.New("the other side does not speak the protocol")
	ErrNotJoined  = errors.New("this node has not joined a cluster")
)

// RefusedError says that the master has refused a connection, and why. To try
// again is of no use before something has been changed on either side.
type RefusedError struct {
	Reason string
	Later  bool // the reason may pass by itself
	Rejoin bool // the identity, or the token, is worth nothing; to join with another token helps
}

// Error implements error.
func (e *RefusedError) Error() string { return "the master refused: " + e.Reason }

// ClosedError says that the other side has closed the link, and why.
type ClosedError struct{ Reason string }

// Error implements error.
func (e *ClosedError) Error() string { return "closed by the other side: " + e.Reason }

// TokenError says that a token does not let a node join, and why. Only another token helps.
type TokenError struct{ Err error }

// Error implements error.
func (e *TokenError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *TokenError) Unwrap() error { return e.Err }

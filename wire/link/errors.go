package link

import "errors"

// Reasons why there is no session.
var (
	ErrClosed     = errors.New("link was closed")
	ErrNotResumed = errors.New("the master does not know the link any more")
	ErrProtocol   = errors.New("the other side does not speak the protocol")
	ErrNotJoined  = errors.New("this node has not joined a cluster")
)

// RefusedError means that the master has refused a connection. To try again is useless before
// something has been changed on either side.
type RefusedError struct {
	Reason string
	Later  bool // the reason may pass by itself
	Rejoin bool // the identity, or the token, is invalid; joining with another token helps
}

// Error implements error.
func (e *RefusedError) Error() string { return "the master refused: " + e.Reason }

// ClosedError means that the other side has closed the link.
type ClosedError struct{ Reason string }

// Error implements error.
func (e *ClosedError) Error() string { return "closed by the other side: " + e.Reason }

// TokenError means that a node cannot join with a token. Only another token helps.
type TokenError struct{ Err error }

// Error implements error.
func (e *TokenError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *TokenError) Unwrap() error { return e.Err }

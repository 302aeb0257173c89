package link

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"bproc/wire"
)

// Token is a token as an administrator sees it.
type Token struct {
	ID      string // begin of what is kept of it: it is good for nothing
	Node    wire.NodeID
	Name    string
	Count   int // how many machines can join
	Uses    int
	Nodes   []wire.NodeID // that have joined with one that is for several
	Expires time.Time
}

// idLength is how much of a hash is enough to tell tokens from each other.
const idLength = 16

// ErrNoToken is the error for a token that there is not, or that is good for nothing.
var ErrNoToken = errors.New("there is no such token that is still good")

// Tokens returns the tokens that are good for something, in order of their expiry.
func (a *Authority) Tokens() (all []Token) {
	s := &a.tokens
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for key, g := range s.grants {
		if g.isGood(now) {
			all = append(all, Token{ID: key[:idLength], Node: g.Node, Name: g.Name, Count: max(g.Count, 1), Uses: g.Uses, Nodes: slices.Clone(g.Nodes), Expires: g.Expires})
		}
	}
	slices.SortFunc(all, func(a, b Token) int { return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID)) })
	return all
}

// isGood reports whether somebody can join with a token.
func (g *grant) isGood(now time.Time) bool { return !g.Used && !g.Revoked && now.Before(g.Expires) }

// RevokeToken makes a token good for nothing. Who has joined with it stays.
func (a *Authority) RevokeToken(id string) error {
	s := &a.tokens
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.grants {
		if key[:idLength] == id && g.isGood(time.Now()) {
			g.Revoked = true
			return s.putLocked(key, g)
		}
	}
	return ErrNoToken
}

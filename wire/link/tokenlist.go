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
	ID      string // beginning of its hash, with which no machine can join
	Node    wire.NodeID
	Name    string
	Count   int // number of machines that can join
	Uses    int
	Nodes   []wire.NodeID // nodes that have joined with a token for several machines
	Expires time.Time
}

// idLength is the length of a hash that is enough to tell tokens apart.
const idLength = 16

// ErrNoToken means that a token does not exist, or cannot be used any more.
var ErrNoToken = errors.New("there is no such token that is still good")

// Tokens returns the tokens that can still be used, in order of their expiry.
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

// isGood reports whether a machine can join with a token.
func (g *grant) isGood(now time.Time) bool { return !g.Used && !g.Revoked && now.Before(g.Expires) }

// RevokeToken makes a token unusable. Nodes that have joined with it stay.
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

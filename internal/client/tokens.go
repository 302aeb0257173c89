package client

import (
	"context"
	"fmt"
	"time"

	"bproc/wire"
)

// Enrolment says what a join token is for.
type Enrolment struct {
	Node  NodeID        // number of the node; negative: the next free one
	Name  string        // name of the node; empty: the host name of its slave
	TTL   time.Duration // how long the token can be used
	Count int           // how many machines can join with it; 0: one
}

// Enroll returns a token with which slaves can join the cluster, and the
// time at which it expires. It needs root.
func (c *Client) Enroll(ctx context.Context, e Enrolment) (token string, expires time.Time, err error) {
	t, err := ask[*wire.Token](ctx, c, &wire.Enroll{
		Version: wire.Version, Node: e.Node, Name: e.Name, Seconds: uint32(e.TTL / time.Second), Count: uint32(e.Count),
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return t.Token, time.Unix(t.Expires, 0), nil
}

// Tokens returns the join tokens that are good for something, in order of expiry. It needs root.
func (c *Client) Tokens(ctx context.Context) ([]wire.JoinToken, error) {
	list, err := ask[*wire.TokenList](ctx, c, &wire.ListTokens{Version: wire.Version})
	if err != nil {
		return nil, err
	}
	return list.Tokens, nil
}

// RevokeToken makes the join token with this ID good for nothing. It needs root.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	if _, err := ask[*wire.Done](ctx, c, &wire.RevokeToken{Version: wire.Version, ID: id}); err != nil {
		return fmt.Errorf("token %s: %w", id, err)
	}
	return nil
}

package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/nodeset"
	"bproc/wire"
	"bproc/wire/link"
)

// Bounds on a join token: its life, and how many machines can join with it.
const (
	maxTokenTime  = 30 * 24 * time.Hour
	maxTokenCount = 4096
)

func (c *clientConn) enroll(_ context.Context, m *wire.Enroll) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may enrol nodes")
	}
	ttl := time.Duration(m.Seconds) * time.Second
	wrong := ""
	switch {
	case ttl <= 0 || ttl > maxTokenTime:
		wrong = fmt.Sprintf("the token's life must be from 1 second to %v", maxTokenTime)
	case m.Node < -1:
		wrong = "node numbers begin at 0; -1 is the next free one"
	case m.Name != "" && !isNodeName(m.Name):
		wrong = fmt.Sprintf("%q is not the name of a node", m.Name[:min(len(m.Name), maxName)])
	case m.Name != "" && !nodeset.IsNameOf(m.Name, m.Node):
		wrong = fmt.Sprintf("commands take %q for a state or another number; choose another name, or the number, too", m.Name)
	case m.Node > maxNode:
		wrong = fmt.Sprintf("node numbers end at %d", maxNode)
	case m.Count > maxTokenCount:
		wrong = fmt.Sprintf("a token can be for up to %d machines", maxTokenCount)
	case m.Count > 1 && (m.Node >= 0 || m.Name != ""):
		wrong = "a token for several machines can have neither number nor name"
	}
	if wrong != "" {
		return c.failed(wire.StageRequest, unix.EINVAL, wrong)
	}
	token, expires, err := c.m.authority.NewToken(link.Terms{Node: m.Node, Name: m.Name, Life: ttl, Count: int(m.Count)})
	if err != nil {
		return c.failed(wire.StageRequest, unix.EIO, err.Error())
	}
	return c.reply(&wire.Token{Token: token, Expires: expires.Unix()})
}

// maxListed bounds the list of tokens in one answer, in bytes. Those are shown that expire first.
const maxListed = wire.MaxMessage / 2

func (c *clientConn) listTokens(context.Context, *wire.ListTokens) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may see join tokens")
	}
	list := new(wire.TokenList)
	bytes := 0
	for _, t := range c.m.authority.Tokens() {
		if bytes += 64 + len(t.Name) + 5*len(t.Nodes); bytes > maxListed {
			break
		}
		list.Tokens = append(list.Tokens, wire.JoinToken{
			ID: t.ID, Node: t.Node, Name: t.Name, Count: uint32(t.Count), Uses: uint32(t.Uses), Nodes: t.Nodes, Expires: t.Expires.Unix(),
		})
	}
	return c.reply(list)
}

func (c *clientConn) revokeToken(_ context.Context, m *wire.RevokeToken) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may revoke join tokens")
	}
	switch err := c.m.authority.RevokeToken(m.ID); {
	case errors.Is(err, link.ErrNoToken):
		return c.failed(wire.StageRequest, unix.ENOENT, err.Error())
	case err != nil:
		return c.failed(wire.StageRequest, unix.EIO, err.Error())
	}
	c.log.Info("a join token is revoked")
	return c.reply(new(wire.Done))
}

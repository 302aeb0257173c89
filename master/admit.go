package master

import (
	"context"

	"bproc/wire/link"
)

// admit decides whether a slave may connect, or go on with its link over another connection.
// When the master ends meanwhile the slave is not refused: it is to come again.
func (m *Master) admit(ctx context.Context, key string) error {
	var refused error
	if err := m.do(ctx, func(c *core) { refused = c.admit(key) }); err != nil {
		return err
	}
	return refused
}

func (c *core) admit(key string) error {
	switch n := c.nodes.byKey[key]; {
	case n == nil:
		return &link.RefusedError{Reason: errUnknownNode.Error(), Rejoin: true}
	case n.Down:
		return &link.RefusedError{Reason: errDown.Error(), Later: true}
	}
	return nil
}

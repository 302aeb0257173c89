package master

import (
	"context"
	"errors"

	"bproc/master/core"
	"bproc/nodeset"
	"bproc/wire"
	"bproc/wire/link"
)

// admit decides whether a slave may connect, or go on with its link over another connection. If the
// master ends meanwhile, the slave is not refused, and comes again.
func (m *Master) admit(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var admission core.Admission
	m.state.look(func(c *core.Core) { admission = c.Admit(key) })
	switch admission {
	case core.Unknown:
		return &link.RefusedError{Reason: core.ErrUnknownNode.Error(), Rejoin: true}
	case core.SetDown:
		return &link.RefusedError{Reason: core.ErrDown.Error(), Later: true}
	default:
		return nil
	}
}

// joined gives a node that has joined its number.
func (m *Master) joined(ctx context.Context, in core.Join) (wire.NodeID, wire.Block, error) {
	joined, err := m.state.join(ctx, in)
	if errors.Is(joined.Err, core.ErrNotAgain) {
		return 0, wire.Block{}, link.ErrNotAgain
	}
	if err := errors.Join(err, joined.Err); err != nil {
		return 0, wire.Block{}, err
	}
	m.log.Info("node has joined", "node", joined.Node, "name", joined.Name)
	if joined.Name != "" && !nodeset.IsNameOf(joined.Name, joined.Node) {
		m.log.Warn("commands take the name of a node for something else; give the machine another number (bpctl enroll --node) or name",
			"node", joined.Node, "name", joined.Name)
	}
	return joined.Node, joined.Home, nil
}

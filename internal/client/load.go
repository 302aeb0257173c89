package client

import (
	"context"

	"bproc/wire"
)

// NodeLoad is how busy a node is.
type NodeLoad = wire.NodeLoad

// Loads returns how busy nodes are, or all if none is given.
func (c *Client) Loads(ctx context.Context, nodes []NodeID) ([]NodeLoad, error) {
	list, err := ask[*wire.LoadList](ctx, c, &wire.ListLoads{Version: wire.Version, Nodes: nodes})
	if err != nil {
		return nil, err
	}
	return list.Nodes, nil
}

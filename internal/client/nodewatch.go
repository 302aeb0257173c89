package client

import (
	"context"
	"time"

	"bproc/wire"
)

// awaitTime bounds [Client.AwaitNodes]. A master answers earlier.
const awaitTime = 10 * time.Minute

// AwaitNodes blocks until the node table has another digest than after, and returns that. It
// may return the same if nothing changes for some minutes. If after is 0, it returns at once.
func (c *Client) AwaitNodes(ctx context.Context, after uint64) (digest uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	are, err := ask[*wire.NodesAre](ctx, c, &wire.AwaitNodes{Version: wire.Version, After: after})
	if err != nil {
		return 0, err
	}
	return are.Digest, nil
}

package client

import (
	"context"
	"time"

	"bproc/wire"
)

// birthsTime bounds [Client.Births]. A master answers earlier.
const birthsTime = 10 * time.Minute

// Births blocks until the master's count of births on nodes differs from after, and returns
// the count. It may return the same count if there are no births for some minutes. Another
// master counts from another number. If after is 0, Births returns at once.
func (c *Client) Births(ctx context.Context, after uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, birthsTime)
	defer cancel()
	born, err := ask[*wire.Born](ctx, c, &wire.Births{Version: wire.Version, After: after})
	if err != nil {
		return 0, err
	}
	return born.Count, nil
}

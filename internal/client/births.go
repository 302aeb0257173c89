package client

import (
	"context"
	"time"

	"bproc/wire"
)

// birthsTime is for how long [Client.Births] waits: longer than a master lets it.
const birthsTime = 10 * time.Minute

// Births waits until the master of this front end knows of births of processes of nodes
// that were not counted when it returned after, and returns the count now. It may return
// after itself, if there are none for some minutes. Counts of two masters differ, so
// that another one's is news, too. After 0 it returns at once.
func (c *Client) Births(ctx context.Context, after uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, birthsTime)
	defer cancel()
	born, err := ask[*wire.Born](ctx, c, &wire.Births{Version: wire.Version, After: after})
	if err != nil {
		return 0, err
	}
	return born.Count, nil
}

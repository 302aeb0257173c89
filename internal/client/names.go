package client

import (
	"context"

	"bproc/internal/hosts"
	"bproc/wire"
)

// Hosts is what the names of the cluster mean here: n3 and .3, master and self.
type Hosts = hosts.Table

// Hosts returns what the names mean, with a digest of that, once it is another than after; 0: at
// once. It may return the same if nothing changes for some minutes. A master that was started not
// long ago does not know all nodes: they are as in former then, which may be nil.
func (c *Client) Hosts(ctx context.Context, after uint64, former *Hosts) (table *Hosts, digest uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	names, err := ask[*wire.Names](ctx, c, &wire.AwaitNames{Version: wire.Version, After: after})
	if err != nil {
		return nil, 0, err
	}
	table, err = hosts.Heard(names, former)
	return table, names.Digest, err
}

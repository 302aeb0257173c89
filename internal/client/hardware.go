package client

import (
	"context"
	"fmt"
	"os"

	"bproc/wire"
)

// The nouns of what nodes are.
type (
	Hardware     = wire.Hardware
	NodeHardware = wire.NodeHardware
	Numbers      = wire.NumberList
	NodeNumbers  = wire.NodeNumbers
)

// Hardware returns what the machines of nodes are, or of all if none is given, as they have said
// when they came up. If that is to be fresh, those that are up read it again.
func (c *Client) Hardware(ctx context.Context, nodes []NodeID, fresh bool) ([]NodeHardware, error) {
	conn, err := c.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := within(ctx, conn)
	all, err := gatherHardware(ctx, conn, &wire.ListHardware{Version: wire.Version, Nodes: nodes, Fresh: fresh})
	if stopErr := stop(); stopErr != nil {
		err = stopErr
	}
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return all, nil
}

func gatherHardware(ctx context.Context, conn *os.File, request *wire.ListHardware) (all []NodeHardware, err error) {
	m, err := exchange(ctx, conn, request)
	for reader := wire.NewReader(conn); ; m, err = answerFrom(ctx, reader) {
		if err != nil {
			return nil, err
		}
		list, ok := m.(*wire.HardwareList)
		if !ok {
			return nil, unexpected(m)
		}
		if all = append(all, list.Nodes...); list.Last {
			return all, nil
		}
	}
}

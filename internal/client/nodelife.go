package client

import (
	"context"
	"fmt"
	"io"

	"bproc/wire"
)

// PowerOn has the front end's command switch a node on, and waits for the end of that command. It
// needs root.
func (c *Client) PowerOn(ctx context.Context, node NodeID) error {
	_, err := ask[*wire.Done](ctx, c, &wire.PowerOn{Version: wire.Version, Node: node})
	return onNode(err, node)
}

// ReadLog writes the log of a node's set-up to w; following, also what is added to it until the
// context ends. It needs root.
func (c *Client) ReadLog(ctx context.Context, node NodeID, follow bool, w io.Writer) error {
	return onNode(c.readLog(ctx, &wire.ReadLog{Version: wire.Version, Node: node, Follow: follow}, w), node)
}

func (c *Client) readLog(ctx context.Context, request *wire.ReadLog, w io.Writer) error {
	conn, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := within(ctx, conn)
	err = logText(ctx, conn, request, w)
	if stopErr := stop(); stopErr != nil {
		return stopErr
	}
	return err
}

func logText(ctx context.Context, conn io.ReadWriter, request *wire.ReadLog, w io.Writer) error {
	if err := wire.Write(conn, 0, request); err != nil {
		return lost(ctx, err)
	}
	for reader := wire.NewReader(conn); ; {
		m, err := answerFrom(ctx, reader)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.LogText:
			if _, err := w.Write(m.Text); err != nil {
				return fmt.Errorf("write the log: %w", err)
			}
		case *wire.Done:
			return nil
		default:
			return unexpected(m)
		}
	}
}

// Reload has the master read its configuration again. It returns what has changed, a line each.
// It needs root.
func (c *Client) Reload(ctx context.Context) (changes []string, err error) {
	m, err := ask[*wire.Reloaded](ctx, c, &wire.Reload{Version: wire.Version})
	if err != nil {
		return nil, err
	}
	return m.Changes, nil
}

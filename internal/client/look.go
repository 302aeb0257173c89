package client

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Look is a look at the processes of one node, as procfs shows them there. Its methods
// are for one goroutine, but for Close.
type Look struct {
	node   NodeID
	conn   *os.File
	reader *wire.Reader
	number uint64
	origin *wire.Shown // nil: not known yet
}

// lookBuffer is the size of the buffer for what a node tells, in bytes.
const lookBuffer = 64 << 10

// Look begins to look at a node. Nothing is read there before the first Refresh.
func (c *Client) Look(node NodeID) (*Look, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	if err := wire.Write(conn, 0, &wire.Look{Version: wire.Version, Node: node}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("look at node %d: %w", node, err)
	}
	return &Look{node: node, conn: conn, reader: wire.NewReader(bufio.NewReaderSize(conn, lookBuffer))}, nil
}

// Refresh calls each with everything that has changed since the last Refresh, in parts, and
// returns the error of each if it has one. If now, the node scans its processes; otherwise
// it may reuse a recent scan. The texts are as they are on the node (see [wire.Texts]).
// Processes that do not belong to the node are left out. After an error the Look cannot be
// used any more.
func (l *Look) Refresh(ctx context.Context, now bool, each func(*wire.Changed) error) error {
	stop := within(ctx, l.conn)
	err := l.refresh(ctx, now, each)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	return onNode(err, l.node)
}

func (l *Look) refresh(ctx context.Context, now bool, each func(*wire.Changed) error) error {
	l.number++
	if err := wire.Write(l.conn, l.number, &wire.Refresh{Now: now}); err != nil {
		// A master that does not let us look says why before it closes.
		if _, answerErr := l.next(ctx); answerErr != nil {
			err = answerErr
		}
		return err
	}
	if l.origin == nil {
		if err := l.begin(ctx); err != nil {
			return err
		}
	}
	for {
		m, err := l.next(ctx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.Changed:
			if err := each(m); err != nil {
				return err
			}
		case *wire.Refreshed:
			return nil
		default:
			return unexpected(m)
		}
	}
}

// begin takes in what comes before everything else.
func (l *Look) begin(ctx context.Context) error {
	m, err := l.next(ctx)
	if err != nil {
		return err
	}
	shown, ok := m.(*wire.Shown)
	if !ok {
		return unexpected(m)
	}
	l.origin = shown
	return nil
}

// Origin returns the clock and boot that the times of start refer to. It is known when
// Refresh has called each, or has returned without an error.
func (l *Look) Origin() *wire.Shown { return l.origin }

func (l *Look) next(ctx context.Context) (wire.Message, error) { return answerFrom(ctx, l.reader) }

// Close ends the look.
func (l *Look) Close() error { return l.conn.Close() }

// Found is what a look-up in the procfs of a node has found.
type Found struct {
	Data    []byte       // of a file or a link
	Entries []wire.Entry // of a directory
}

// Inspect looks something up in the procfs of a node: what the caller's user may see
// there. At most [wire.MaxFetch] bytes of a file are returned.
func (c *Client) Inspect(ctx context.Context, request wire.Inspect) (*Found, error) {
	request.Version = wire.Version
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := within(ctx, conn)
	found, err := gather(ctx, conn, &request)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s of %d on node %d: %w", request.Path, request.PID, request.Node, err)
	}
	return found, nil
}

func gather(ctx context.Context, conn *os.File, request *wire.Inspect) (*Found, error) {
	m, err := exchange(ctx, conn, request)
	found := &Found{}
	size := 0
	reader := wire.NewReader(conn)
	for {
		if err != nil {
			return nil, err
		}
		piece, ok := m.(*wire.Piece)
		if !ok {
			return nil, unexpected(m)
		}
		found.Data = append(found.Data, piece.Data...)
		found.Entries = append(found.Entries, piece.Entries...)
		size += len(piece.Data)
		for _, e := range piece.Entries {
			size += len(e.Name) + len(e.Target)
		}
		switch {
		case piece.Errno != 0:
			return nil, unix.Errno(piece.Errno)
		case size > wire.MaxFetch+wire.MaxMessage:
			return nil, fmt.Errorf("%w: a node tells more than was asked for", wire.ErrFrame)
		case piece.Last:
			return found, nil
		}
		m, err = answerFrom(ctx, reader)
	}
}

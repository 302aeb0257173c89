package master

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// Times for a client that waits for a change of the node table: until it is told that there is
// none, and between comparisons of the table.
const (
	nodesTime  = 5 * time.Minute
	digestTime = 250 * time.Millisecond
)

// nodeWatch has the digest of the node table, for clients that wait for a change. It does nothing
// while nobody waits.
type nodeWatch struct {
	waiting viewers

	mu     sync.Mutex
	digest uint64
	at     time.Time // when it was made
}

// of returns a digest of the table that is not older than digestTime.
func (w *nodeWatch) of(table func() []wire.Node) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.digest == 0 || now.Sub(w.at) >= digestTime {
		w.digest, w.at = digestOf(table()), now
	}
	return w.digest
}

// digestOf returns the digest of a node table without the counts of processes, which change all the
// time. It is not 0.
func digestOf(nodes []wire.Node) uint64 {
	h := fnv.New64a()
	var frame []byte
	for i := range nodes {
		n := nodes[i]
		n.Procs = 0
		frame, _ = wire.Append(frame[:0], 0, &wire.NodeList{Nodes: []wire.Node{n}}) // it fits: the whole table does
		_, _ = h.Write(frame)
	}
	_ = binary.Write(h, binary.LittleEndian, uint64(len(nodes)))
	return max(h.Sum64(), 1)
}

// awaitNodes tells a client when the node table has changed.
func (c *clientConn) awaitNodes(ctx context.Context, m *wire.AwaitNodes) error {
	w := &c.m.nodeWatch
	leave, ok := w.waiting.enter(c.who.UID)
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	ctx, here := c.whileHere(ctx, nodesTime)
	digest := w.await(ctx, m.After, c.m.nodeTable)
	here()
	return c.reply(&wire.NodesAre{Digest: digest})
}

// await returns the digest when it differs from after, or when the context ends.
func (w *nodeWatch) await(ctx context.Context, after uint64, table func() []wire.Node) uint64 {
	ticker := time.NewTicker(digestTime)
	defer ticker.Stop()
	for {
		digest := w.of(table)
		if digest != after {
			return digest
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return digest
		}
	}
}

// nodeTable returns the node table.
func (m *Master) nodeTable() (nodes []wire.Node) {
	m.state.look(func(c *core.Core) { nodes = c.NodeList() })
	return nodes
}

package sparselog

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Bounds used by [New]: records of the same text per period, and the lower bound for warnings about
// one node.
const (
	burst     = 20
	nodeBurst = 5
	period    = time.Minute
)

// Attributes that name a record's node, by its number, or by its key while the number is unknown.
const (
	nodeAttr = "node"
	keyAttr  = "key"
)

// isNode reports whether an attribute names a record's node.
func isNode(a slog.Attr) bool { return a.Key == nodeAttr || a.Key == keyAttr }

// maxTexts is the number of texts above which texts that were not written recently are forgotten.
const maxTexts = 4096

// Handler passes on a bounded number of records to another handler.
type Handler struct {
	slog.Handler
	counts *counts // shared by handlers derived from the same one
	node   string  // node of all records; empty: that of each record
}

// New returns a Handler that bounds the records for next.
func New(next slog.Handler) *Handler {
	return &Handler{Handler: next, counts: &counts{of: map[what]*count{}}}
}

// what is the unit of counting: a message text and, if the record names one, a node.
type what struct{ text, node string }

// counts are the recently written texts.
type counts struct {
	mu sync.Mutex
	of map[what]*count
}

type count struct {
	since    time.Time
	written  int
	withheld int
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	w, most := what{r.Message, h.nodeOf(r)}, burst
	switch {
	case r.Level < slog.LevelInfo, r.Level < slog.LevelWarn && w.node == "":
		return h.Handler.Handle(ctx, r)
	case r.Level >= slog.LevelWarn && w.node != "":
		most = nodeBurst
	}
	withheld, pass := h.counts.pass(w, most, r.Time)
	if !pass {
		return nil
	}
	if withheld > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("withheld", withheld))
	}
	return h.Handler.Handle(ctx, r)
}

// nodeOf returns the node of a record, or "".
func (h *Handler) nodeOf(r slog.Record) string {
	node := h.node
	r.Attrs(func(a slog.Attr) bool {
		if isNode(a) {
			node = a.Value.String()
		}
		return a.Key != nodeAttr
	})
	return node
}

// pass reports whether a record is to be written, and how many were withheld before it.
func (c *counts) pass(w what, most int, now time.Time) (withheld int, pass bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[w]
	if n == nil {
		c.forgetLocked(now)
		n = &count{since: now}
		c.of[w] = n
	}
	if now.Sub(n.since) >= period {
		withheld = n.withheld
		*n = count{since: now}
	}
	if n.written >= most {
		n.withheld++
		return 0, false
	}
	n.written++
	return withheld, true
}

// forgetLocked removes old entries if there are too many.
func (c *counts) forgetLocked(now time.Time) {
	if len(c.of) >= maxTexts {
		maps.DeleteFunc(c.of, func(_ what, n *count) bool { return now.Sub(n.since) >= period })
	}
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	node := h.node
	for _, a := range attrs {
		if isNode(a) {
			node = a.Value.String()
		}
	}
	return &Handler{h.Handler.WithAttrs(attrs), h.counts, node}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.counts, h.node}
}

package sparselog

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// The bounds that [New] uses: how many records of a text are written in a period, and how
// many of these warnings about one node.
const (
	burst     = 20
	nodeBurst = 5
	period    = time.Minute
)

// nodeAttr is the attribute that has the number of a node.
const nodeAttr = "node"

// maxTexts is with how many texts those that were not written of late are forgotten.
const maxTexts = 4096

// Handler passes records on to another handler.
type Handler struct {
	slog.Handler
	counts *counts // shared by the handlers that are derived from one
	node   string  // of all records; empty: they say
}

// New returns a Handler that bounds what goes to next.
func New(next slog.Handler) *Handler {
	return &Handler{Handler: next, counts: &counts{of: map[what]*count{}}}
}

// what is counted: a text, which is one of the messages of a program, about a node, if it names one.
type what struct{ text, node string }

// counts are the texts that were written of late.
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

// nodeOf returns the node that a record is about; empty: none.
func (h *Handler) nodeOf(r slog.Record) string {
	node := h.node
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == nodeAttr {
			node = a.Value.String()
		}
		return a.Key != nodeAttr
	})
	return node
}

// pass reports whether one more is to be written, and how many were not before it.
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

// forgetLocked makes room.
func (c *counts) forgetLocked(now time.Time) {
	if len(c.of) >= maxTexts {
		maps.DeleteFunc(c.of, func(_ what, n *count) bool { return now.Sub(n.since) >= period })
	}
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	node := h.node
	for _, a := range attrs {
		if a.Key == nodeAttr {
			node = a.Value.String()
		}
	}
	return &Handler{h.Handler.WithAttrs(attrs), h.counts, node}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.counts, h.node}
}

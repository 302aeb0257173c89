package sparselog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The bounds that [New] uses.
const (
	burst  = 20
	period = time.Minute
)

// Handler passes records on to another handler.
type Handler struct {
	slog.Handler
	counts *counts // shared by the handlers that are derived from one
}

// New returns a Handler that bounds what goes to next.
func New(next slog.Handler) *Handler {
	return &Handler{next, &counts{of: map[string]*count{}}}
}

// counts are the texts that were written of late. There are as many as there are
// messages in a program: they are constants.
type counts struct {
	mu sync.Mutex
	of map[string]*count
}

type count struct {
	since    time.Time
	written  int
	withheld int
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	withheld, pass := h.counts.pass(r.Message, r.Time)
	if !pass {
		return nil
	}
	if withheld > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("withheld", withheld))
	}
	return h.Handler.Handle(ctx, r)
}

// pass reports whether a text is to be written, and how many were not before it.
func (c *counts) pass(text string, now time.Time) (withheld int, pass bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[text]
	if n == nil {
		n = &count{since: now}
		c.of[text] = n
	}
	if now.Sub(n.since) >= period {
		withheld = n.withheld
		*n = count{since: now}
	}
	if n.written >= burst {
		n.withheld++
		return 0, false
	}
	n.written++
	return withheld, true
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.counts}
}

package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// pieceSize is how many bytes of the stream are passed on at once.
const pieceSize = 128 << 10

// queue is how many pieces an outlet may be behind the others.
const queue = 16

// piece is a part of the stream that several outlets have.
type piece struct {
	bytes   []byte
	holders atomic.Int32
}

var pieces = sync.Pool{New: func() any { return &piece{bytes: make([]byte, 0, pieceSize)} }}

func (p *piece) release() {
	if p.holders.Add(-1) == 0 {
		pieces.Put(p)
	}
}

// sink is where an outlet leads.
type sink interface {
	// write takes a part of the stream. More says that another one is there already.
	write(b []byte, more bool) error
	// finish is called at the end, if the stream is whole.
	finish() error
	// abort is called otherwise. It may be called at any time, by any goroutine, and makes
	// the others return.
	abort()
}

// outlet passes pieces on to a sink.
type outlet struct {
	id     int // of the agent there
	sink   sink
	pieces chan *piece
	dead   chan struct{} // closed when it takes no more
	once   sync.Once
	err    error // after run

	taken atomic.Int64 // pieces
	ended atomic.Bool  // run has returned
}

// kill ends the outlet before the stream does.
func (o *outlet) kill() {
	o.once.Do(func() {
		close(o.dead)
		o.sink.abort()
	})
}

// errDropped is the error of an outlet that was killed.
var errDropped = errors.New("was dropped")

// run passes pieces on until the stream ends, or breaks.
func (o *outlet) run(whole func() bool) {
	defer o.ended.Store(true)
	for {
		select {
		case <-o.dead:
			o.err = errDropped
			return
		case p, ok := <-o.pieces:
			if !ok {
				o.end(whole())
				return
			}
			err := o.sink.write(p.bytes, len(o.pieces) > 0)
			p.release()
			o.taken.Add(1)
			if err != nil {
				o.err = err
				o.kill()
				return
			}
		}
	}
}

// end ends the stream at this outlet.
func (o *outlet) end(whole bool) {
	if !whole {
		o.err = errBroken
		o.kill()
		return
	}
	if o.err = o.sink.finish(); o.err != nil {
		o.kill()
	}
}

// errBroken is the error of a stream that is not whole.
var errBroken = errors.New("the stream broke off")

// errNobody is the error when there is no outlet left.
var errNobody = errors.New("nobody takes the stream any more")

// hub passes every piece of the stream on to all outlets. One that is behind by more than its
// queue holds the others up, until it is stalled (watch).
type hub struct {
	ctx     context.Context
	outlets []*outlet
	group   sync.WaitGroup
	whole   bool          // set before the queues are closed
	ending  chan struct{} // closed then
}

func newHub(ctx context.Context) *hub { return &hub{ctx: ctx, ending: make(chan struct{})} }

// add adds an outlet.
func (h *hub) add(id int, s sink) *outlet {
	o := &outlet{id: id, sink: s, pieces: make(chan *piece, queue), dead: make(chan struct{})}
	h.outlets = append(h.outlets, o)
	return o
}

// start starts the outlets.
func (h *hub) start() {
	for _, o := range h.outlets {
		h.group.Go(func() {
			o.run(func() bool { return h.whole })
		})
	}
}

// pass passes a piece on.
func (h *hub) pass(p *piece) error {
	p.holders.Store(int32(len(h.outlets)) + 1)
	defer p.release()
	living := 0
	for _, o := range h.outlets {
		select {
		case <-o.dead: // also if it has room
			p.release()
			continue
		default:
		}
		select {
		case o.pieces <- p:
			living++
		case <-o.dead:
			p.release()
		case <-h.ctx.Done():
			p.release()
		}
	}
	if err := context.Cause(h.ctx); err != nil {
		return err
	}
	if living == 0 {
		return errNobody
	}
	return nil
}

// end ends the stream, and returns when all outlets have.
func (h *hub) end(whole bool) {
	h.whole = whole
	close(h.ending)
	for _, o := range h.outlets {
		close(o.pieces)
	}
	h.group.Wait()
}

// drop ends the outlet to an agent.
func (h *hub) drop(id int) {
	for _, o := range h.outlets {
		if o.id == id {
			o.kill()
		}
	}
}

// abort ends all outlets.
func (h *hub) abort() {
	for _, o := range h.outlets {
		o.kill()
	}
}

// gatherer is an io.Writer that makes pieces of what is written.
type gatherer struct {
	hub *hub
	now *piece
}

func (g *gatherer) Write(b []byte) (int, error) {
	total := len(b)
	for len(b) > 0 {
		if g.now == nil {
			g.now = newPiece()
		}
		n := min(len(b), pieceSize-len(g.now.bytes))
		g.now.bytes = append(g.now.bytes, b[:n]...)
		b = b[n:]
		if len(g.now.bytes) == pieceSize {
			if err := g.flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// flush passes on what is left.
func (g *gatherer) flush() error {
	if g.now == nil {
		return nil
	}
	p := g.now
	g.now = nil
	return g.hub.pass(p)
}

func newPiece() *piece {
	p := pieces.Get().(*piece)
	p.bytes = p.bytes[:0]
	return p
}

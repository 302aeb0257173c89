package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// pieceSize is the size of the pieces in which the stream is passed on.
const pieceSize = 128 << 10

// queue is how many pieces an outlet may be behind the others.
const queue = 16

// piece is a part of the stream that several outlets share.
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

// sink is the destination of an outlet.
type sink interface {
	// write takes a part of the stream. more means that the next part is already there.
	write(b []byte, more bool) error
	// finish is called at the end, if the stream is whole.
	finish() error
	// abort is called otherwise. Any goroutine may call it at any time, and it makes the other
	// methods return.
	abort()
}

// outlet passes pieces on to a sink.
type outlet struct {
	id     int // of the receiving agent
	sink   sink
	pieces chan *piece
	dead   chan struct{} // closed when it takes no more pieces
	once   sync.Once
	err    error // valid after run

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

// run passes pieces on until the stream ends or breaks off.
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

// errBroken is the error of an incomplete stream.
var errBroken = errors.New("the stream broke off")

// errNobody is the error if no outlet is left.
var errNobody = errors.New("nobody takes the stream any more")

// hub passes every piece of the stream on to all outlets. An outlet that is behind by more than its
// queue holds up the others, until it is stalled (watch).
type hub struct {
	ctx     context.Context
	outlets []*outlet
	group   sync.WaitGroup
	whole   bool          // set before the queues are closed
	ending  chan struct{} // closed before the queues
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
		case <-o.dead: // even if its queue has room
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

// end ends the stream, and returns when all outlets have ended.
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

// gatherer is an io.Writer that cuts its input into pieces.
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

// flush passes on the last, incomplete piece.
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

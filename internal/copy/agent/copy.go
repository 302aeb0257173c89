package agent

import (
	"context"
	"errors"
	"io"
	"time"

	"bproc/internal/copy/source"
	"bproc/internal/copy/stream"
	"bproc/internal/copy/target"
)

// progressEvery is how often the agent reports its progress.
const progressEvery = 200 * time.Millisecond

// localID is the ID of the outlet to the target of this machine.
const localID = -3

// copy passes the stream on until it ends.
func (a *Agent) copy(ctx context.Context, s Start) error {
	h := newHub(ctx)
	in, err := a.plumb(h, s)
	if err != nil {
		h.abort()
		_ = a.conn.Send(Done{Broken: true})
		return err
	}
	if a.target != nil {
		a.own = startLocal(a.target, a.setup.Receiver)
		h.add(localID, a.own)
	}
	a.publish(h, s.From, in)
	stop := context.AfterFunc(ctx, func() {
		h.abort()
		a.inlet.end(context.Cause(ctx))
		if l, ok := in.(*link); ok {
			l.abort()
		}
	})
	defer stop()
	h.start()
	if s.Ticks > 0 {
		go h.watch(s.Ticks, a.stalled)
	}
	quiet := a.tellProgress(ctx)
	err = a.pass(ctx, h, in)
	if l, ok := in.(*link); ok && err != nil {
		l.abort() // its sender goes on with the others
	}
	h.end(err == nil)
	quiet()
	if a.own != nil {
		err = a.received(err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return a.conn.Send(Done{Broken: err != nil && !errors.Is(err, errNobody)})
}

// publish makes the hub and the source known to messages, and drops agents that are already gone.
func (a *Agent) publish(h *hub, from int, in io.Reader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hub, a.from, a.in = h, from, in
	for id := range a.gone {
		a.dropLocked(id)
	}
}

// plumb adds the outlets to other machines, and returns the source of the stream; nil means this
// machine.
func (a *Agent) plumb(h *hub, s Start) (in io.Reader, err error) {
	for _, id := range s.Links {
		l := a.links[id]
		if l == nil {
			if l, err = a.accepted(id); err != nil {
				return nil, err
			}
		}
		h.add(id, l)
	}
	a.mu.Lock()
	for _, id := range s.Feeds {
		a.feeds[id] = newFeed(a.Feeds(id))
		h.add(id, a.feeds[id])
	}
	if s.Up {
		a.feeds[FromSession] = newFeed(a.conn)
		h.add(FromSession, a.feeds[FromSession])
	}
	a.mu.Unlock()
	switch {
	case s.From == FromSelf:
		return nil, nil
	case s.From == FromSession:
		return a.inlet, nil
	case a.links[s.From] != nil:
		return a.links[s.From], nil
	}
	return a.accepted(s.From)
}

// accepted returns the connection that another agent has made.
func (a *Agent) accepted(from int) (*link, error) {
	if a.listener == nil {
		return nil, errors.New("this agent does not listen")
	}
	return a.listener.take(from)
}

// pass passes the stream on until its end.
func (a *Agent) pass(ctx context.Context, h *hub, in io.Reader) error {
	if in == nil {
		return a.send(ctx, h)
	}
	for {
		p := newPiece()
		n, err := in.Read(p.bytes[:cap(p.bytes)])
		p.bytes = p.bytes[:n]
		if n > 0 {
			if passErr := h.pass(p); passErr != nil {
				return passErr
			}
		}
		if errors.Is(err, io.EOF) {
			if l, ok := in.(*link); ok {
				l.close()
			}
			return nil
		}
		if err != nil {
			return errBroken
		}
	}
}

// send makes the stream from the files of this machine.
func (a *Agent) send(ctx context.Context, h *hub) error {
	from := a.sendOf()
	if a.setup.Progress {
		go a.tellTotal(ctx, from)
	}
	g := &gatherer{hub: h}
	seal, err := newSealer(g, a.setup.Sender)
	if err == nil {
		err = from.Send(ctx, stream.NewWriter(seal))
	}
	if err == nil {
		err = seal.Close()
	}
	if err != nil {
		return err
	}
	return g.flush()
}

// stalled reports an outlet that takes nothing.
func (a *Agent) stalled(id int) {
	if id == localID {
		close(a.own.stalled)
		id = a.setup.ID
	}
	_ = a.conn.Send(Stalled{id}) // the context ends with the transfer
}

// received waits for this machine's target, unless it is stalled.
func (a *Agent) received(passed error) error {
	select {
	case <-a.own.done:
		return a.outcome(passed, a.own.err)
	case <-a.own.stalled:
		return errBroken
	}
}

// outcome returns the result of the copy, from the errors of the stream and of this machine's
// target. A full target was already reported.
func (a *Agent) outcome(passed, received error) error {
	switch {
	case received == nil, errors.Is(received, target.ErrFatal):
		return passed
	case errors.Is(received, stream.ErrStream):
		a.problem(string(a.setup.Receive.Path), received)
		return passed
	}
	return errBroken
}

// tellProgress reports the number of written bytes from time to time, until stop is called.
func (a *Agent) tellProgress(ctx context.Context) (stop func()) {
	if !a.setup.Progress || a.target == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			if a.conn.Send(Progress{a.written.Load()}) != nil {
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (a *Agent) tellTotal(ctx context.Context, from *source.Source) {
	if total := from.Total(ctx); ctx.Err() == nil {
		_ = a.conn.Send(Total{total}) // the context ends with the transfer
	}
}

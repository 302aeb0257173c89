package outbox

import "io"

// sink is the destination of an outbox without Run.
type sink struct {
	w      io.Writer
	begin  func(write func())
	failed func(error)
	writes bool // a goroutine writes; guarded by mu of the outbox
}

// Serve makes the outbox write to w, in place of Run. begin must call its argument on another
// goroutine, which ends when nothing is left to write. So a peer with little traffic costs no
// goroutine and no buffer. begin is not called after Close. failed is called with the error of a
// write, which is the last one.
func (o *Outbox) Serve(w io.Writer, begin func(write func()), failed func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sink = &sink{w: w, begin: begin, failed: failed}
	if o.err == nil {
		o.startLocked()
	}
}

// startLocked has the frames written, unless that is under way.
func (o *Outbox) startLocked() {
	if s := o.sink; !s.writes && len(o.buf) > 0 {
		s.writes = true
		s.begin(func() { o.drain(s) })
	}
}

// drain writes until nothing is left to write.
func (o *Outbox) drain(s *sink) {
	var spare []byte
	for {
		buf := o.takeOrEnd(s, spare)
		if buf == nil {
			return
		}
		n, err := s.w.Write(buf)
		o.wrote(buf, n, err)
		if err != nil {
			s.failed(err)
			return
		}
		spare = buf[:0]
	}
}

// takeOrEnd returns the collected frames, and makes spare the next buffer. If there are none, the
// goroutine that writes ends.
func (o *Outbox) takeOrEnd(s *sink, spare []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) == 0 || o.err != nil {
		s.writes = false
		if o.err == nil {
			o.buf = nil
		}
		return nil
	}
	buf := o.buf
	o.buf, o.busy = spare, true
	return buf
}

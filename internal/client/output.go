package client

import (
	"errors"
	"io"

	"bproc/wire"
)

// output gives what a process says to those who want it.
type output struct {
	stream  *stream
	writers [2]io.Writer // of Stdout and Stderr
	open    int          // outputs whose end is still to come
	written [2]uint64    // bytes
	told    [2]uint64    // of them the node has been told
	wide    [2]bool      // widened
}

func newOutput(s *stream, c *Cmd) *output {
	o := &output{stream: s, writers: [2]io.Writer{c.Stdout, c.Stderr}}
	for _, due := range s.frames.due {
		if due {
			o.open++
		}
	}
	return o
}

// copy copies until both outputs have come to their end. After an error nobody
// reads the connection, so it is closed.
func (o *output) copy() error {
	o.stream.wait(true)
	defer o.stream.wait(false)
	var pieces []piece
	for o.open > 0 {
		var done func()
		var err error
		if pieces, done, err = o.stream.next(pieces[:0]); err == nil {
			err = o.write(pieces)
			done()
		}
		if err != nil {
			o.stream.close()
			o.endPipes()
			if errors.Is(err, errUnread) || errors.Is(err, errClosed) {
				err = nil
			}
			return err
		}
	}
	return nil
}

// wait says whether somebody waits for output.
func (s *stream) wait(waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited = waited
	s.changed.Broadcast()
}

func (o *output) write(pieces []piece) error {
	for _, p := range pieces {
		if len(p.data) == 0 {
			o.open--
			o.end(p.of)
			continue
		}
		if _, err := o.writers[p.of].Write(p.data); err != nil {
			return err
		}
		o.written[p.of] += uint64(len(p.data))
		if o.written[p.of]-o.told[p.of] >= wire.TellEvery {
			o.told[p.of] = o.written[p.of]
			o.stream.tell(p.of, o.written[p.of])
			o.stream.consider()
			if !o.wide[p.of] && o.written[p.of] >= bypassAfter {
				widen(o.writers[p.of])
				o.wide[p.of] = true
			}
		}
	}
	return nil
}

// end lets the reader of an output that is a pipe see its end, unless the other output goes
// to the same pipe and has not ended.
func (o *output) end(of int) {
	if p, ok := o.writers[of].(*OutputPipe); ok && (o.open == 0 || o.writers[1-of] != io.Writer(p)) {
		p.end()
	}
}

// endPipes lets readers see the end of all outputs that are pipes.
func (o *output) endPipes() {
	o.open = 0
	for of := range o.writers {
		o.end(of)
	}
}

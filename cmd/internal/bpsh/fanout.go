package bpsh

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// fanout gives every node a copy of standard input. A node that takes none
// holds the others up, unless its process has ended or closed its standard input.
type fanout struct {
	src  io.Reader
	taps []*tap
	err  error // why input ended, if not by its end; set before taps are closed
}

// tap is the copy of one node.
type tap struct {
	from   *fanout
	pieces chan []byte
	rest   []byte // of the current piece
	gone   chan struct{}
	once   sync.Once
}

func newFanout(src io.Reader) *fanout { return &fanout{src: src} }

// tap adds a node.
func (f *fanout) tap() *tap {
	t := &tap{from: f, pieces: make(chan []byte), gone: make(chan struct{})}
	f.taps = append(f.taps, t)
	return t
}

// run copies until the end of the input, or until nobody is left to read it.
func (f *fanout) run() {
	buf := make([]byte, wire.MaxData)
	for f.wanted() {
		n, err := f.src.Read(buf)
		if n > 0 {
			f.send(bytes.Clone(buf[:n]))
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			f.err = err
		}
		for _, t := range f.taps {
			close(t.pieces)
		}
		return
	}
}

func (f *fanout) wanted() bool {
	for _, t := range f.taps {
		select {
		case <-t.gone:
		default:
			return true
		}
	}
	return false
}

func (f *fanout) send(piece []byte) {
	for _, t := range f.taps {
		select {
		case t.pieces <- piece:
		case <-t.gone:
		}
	}
}

// Read gives the next bytes of standard input.
func (t *tap) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case piece, ok := <-t.pieces:
			if !ok && t.from.err != nil {
				return 0, t.from.err
			}
			if !ok {
				return 0, io.EOF
			}
			t.rest = piece
		case <-t.gone:
			return 0, io.EOF
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// InputEnded takes the node off: its process has ended, or reads no more. The client calls it.
func (t *tap) InputEnded() { t.once.Do(func() { close(t.gone) }) }

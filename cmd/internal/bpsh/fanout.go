package bpsh

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// fanout gives every node a copy of standard input. A node that does not read its copy holds up the
// others, unless its process has ended or closed its standard input.
type fanout struct {
	src  io.Reader
	taps []*tap
	err  error // why input ended before its end; set before taps are closed
}

// tap is the copy for one node.
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

// run copies until the end of the input, or until no node reads it.
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

// Read implements [io.Reader] for the node's copy of standard input.
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

// InputEnded removes the node: its process has ended or no longer reads. The client calls it.
func (t *tap) InputEnded() { t.once.Do(func() { close(t.gone) }) }

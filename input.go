package bproc

import (
	"errors"
	"fmt"
	"io"

	"bproc/wire"
)

// Sizes of the buffer for standard input: most commands read little.
const (
	inputBuffer = 2 << 10
	inputGrowth = 8
)

// copyInput sends what src gives until its end, or until nobody takes it.
func (r *remote) copyInput(src io.Reader) {
	buf := make([]byte, wire.HeaderSize+inputBuffer)
	for {
		n, err := src.Read(buf[wire.HeaderSize:])
		if n > 0 && r.sendInput(buf, n) != nil {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read standard input: %w", err)
				r.input.Store(&err)
			}
			_ = r.sendInput(buf, 0)
			return
		}
		if size := len(buf) - wire.HeaderSize; n == size && size < wire.MaxData {
			buf = make([]byte, wire.HeaderSize+min(size*inputGrowth, wire.MaxData))
		}
	}
}

// sendInput sends a frame whose payload is in buf after the place for a header.
func (r *remote) sendInput(buf []byte, n int) error {
	wire.Header{Type: wire.TypeStdin, Length: uint32(n)}.Put(buf)
	_, err := r.conn.Write(buf[:wire.HeaderSize+n])
	return err
}

package bypass

import (
	"errors"
	"fmt"
	"io"

	"bproc/wire"
)

// Frames reads the frames of a connection, where they lie: [wire.Reader] would copy them. The payload of a frame may come in
// the record after it, so that whoever writes need not put the two together.
type Frames struct {
	conn *Conn
	rest []byte // of a record
}

// NewFrames returns a reader of the frames that come next.
func NewFrames(conn *Conn) *Frames { return &Frames{conn: conn} }

// Next returns the next frame, which is valid until the next call. At the end of the connection the error is io.EOF.
func (f *Frames) Next() (wire.Header, []byte, error) {
	for len(f.rest) == 0 {
		record, err := f.record()
		if err != nil {
			return wire.Header{}, nil, err
		}
		f.rest = record
	}
	if len(f.rest) < wire.HeaderSize {
		return wire.Header{}, nil, fmt.Errorf("%w: %d bytes in the place of a header", wire.ErrFrame, len(f.rest))
	}
	h, err := wire.ParseHeader(f.rest)
	if err != nil {
		return wire.Header{}, nil, err
	}
	data := f.rest[wire.HeaderSize:]
	if len(data) == 0 && h.Length > 0 {
		if data, err = f.record(); errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return wire.Header{}, nil, err
		}
	}
	if uint64(h.Length) > uint64(len(data)) {
		return wire.Header{}, nil, fmt.Errorf("%w: %d bytes of a frame are in another record", wire.ErrFrame, int(h.Length)-len(data))
	}
	f.rest = data[h.Length:]
	return h, data[:h.Length], nil
}

func (f *Frames) record() ([]byte, error) {
	if err := f.conn.Await(); err != nil {
		return nil, err
	}
	return f.conn.Open(nil)
}

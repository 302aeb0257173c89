package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// HeaderSize is the size of a frame's header in bytes.
const HeaderSize = 16

// Bounds of the payload of a frame, in bytes.
const (
	MaxOpening = 16 << 10 // a message of the opening between machines, which is read before authentication
	MaxData    = 64 << 10 // plain bytes, and a message for many processes, each of which costs as much
	MaxMessage = 1 << 20  // a message
	MaxCommand = 4 << 20  // a message with a command, or about all nodes or processes: the kernel's own bound of arguments and environment is lower
)

// Header is the fixed part of a frame.
type Header struct {
	Type   Type
	Length uint32 // of the payload, bytes
	Number uint64
}

// ErrFrame means bytes that are not a frame of this protocol. Their connection must be closed.
var ErrFrame = errors.New("malformed frame")

// MaxPayload returns the bound of the payload of a frame of type t, and whether the type is known.
func MaxPayload(t Type) (int, bool) {
	switch {
	case t >= TypeHello && t <= TypeBypassWelcome:
		return MaxOpening, true
	case t.IsTaken() || t == TypeResize || t == TypeEffective:
		return 0, true
	case t.IsData() || t == TypeRunMany:
		return MaxData, true
	case t == TypeRun || t == TypeSpawn || t == TypeInitLaunch || t == TypeGhostExec || t == TypeInventory || t == TypeGhostList || t == TypeNodeList || t == TypeProcList:
		return MaxCommand, true
	}
	_, known := factories[t]
	return MaxMessage, known
}

// IsData reports whether the payload of frames of this type is plain bytes.
func (t Type) IsData() bool {
	return t == TypeStdin || t == TypeStdout || t == TypeStderr || t.IsTaken() || t == TypeResize || t == TypeEffective
}

// IsTaken reports whether frames of this type acknowledge bytes of standard input, output or error.
// Such frames have no payload.
func (t Type) IsTaken() bool {
	return t == TypeStdinTaken || t == TypeStdoutTaken || t == TypeStderrTaken
}

// Put writes the header to the first HeaderSize bytes of b.
func (h Header) Put(b []byte) {
	binary.LittleEndian.PutUint16(b[0:], uint16(h.Type))
	binary.LittleEndian.PutUint16(b[2:], 0)
	binary.LittleEndian.PutUint32(b[4:], h.Length)
	binary.LittleEndian.PutUint64(b[8:], h.Number)
}

// ParseHeader parses and checks a header in the first HeaderSize bytes of b: the type must be known
// and the length within the type's bound.
func ParseHeader(b []byte) (Header, error) {
	h := Header{
		Type:   Type(binary.LittleEndian.Uint16(b[0:])),
		Length: binary.LittleEndian.Uint32(b[4:]),
		Number: binary.LittleEndian.Uint64(b[8:]),
	}
	limit, known := MaxPayload(h.Type)
	switch {
	case !known:
		return Header{}, fmt.Errorf("%w: unknown type %d", ErrFrame, h.Type)
	case b[2] != 0 || b[3] != 0:
		return Header{}, fmt.Errorf("%w: reserved bits of a header are set", ErrFrame)
	case int64(h.Length) > int64(limit):
		return Header{}, fmt.Errorf("%w: %d bytes in a frame of type %d, at most %d allowed", ErrFrame, h.Length, h.Type, limit)
	}
	return h, nil
}

// AppendData appends a frame with a payload to dst: plain bytes, or an encoded message. The payload
// must be within the bound of t.
func AppendData(dst []byte, t Type, number uint64, data []byte) []byte {
	var b [HeaderSize]byte
	Header{Type: t, Length: uint32(len(data)), Number: number}.Put(b[:])
	return append(append(dst, b[:]...), data...)
}

// Append appends a frame with message m to dst.
func Append(dst []byte, number uint64, m Message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	dst, err := encode(dst, m)
	if err != nil {
		return dst[:start], fmt.Errorf("encode message of type %d: %w", m.Type(), err)
	}
	n := len(dst) - start - HeaderSize
	if limit, _ := MaxPayload(m.Type()); n > limit {
		return dst[:start], fmt.Errorf("message of type %d has %d bytes, at most %d allowed: %w", m.Type(), n, limit, ErrFrame)
	}
	Header{Type: m.Type(), Length: uint32(n), Number: number}.Put(dst[start:])
	return dst, nil
}

// Write writes a frame with message m to w, in one call of w.Write.
func Write(w io.Writer, number uint64, m Message) error {
	b, err := Append(nil, number, m)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Reader reads frames. Only one goroutine may use it.
type Reader struct {
	r     io.Reader
	hdr   [HeaderSize]byte
	buf   []byte
	only  []Type // empty: all
	admit func(bytes int) error
}

// NewReader returns a Reader of r. It reads from r on demand: pass a buffered reader if many small
// frames are expected.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Admit makes Next call admit with the size of each payload before it reads the payload. Next
// returns the error of admit.
func (r *Reader) Admit(admit func(bytes int) error) { r.admit = admit }

// Only makes Next refuse frames of other types before it reads their payload, whose bound may be larger. Such a
// frame is an ErrFrame.
func (r *Reader) Only(types ...Type) { r.only = types }

// Next reads a frame. The payload is valid until the next call. At the end of the connection the
// error is io.EOF between two frames, and io.ErrUnexpectedEOF inside a frame.
func (r *Reader) Next() (Header, []byte, error) {
	if _, err := io.ReadFull(r.r, r.hdr[:]); err != nil {
		return Header{}, nil, err
	}
	h, err := ParseHeader(r.hdr[:])
	if err != nil {
		return Header{}, nil, err
	}
	if len(r.only) > 0 && !slices.Contains(r.only, h.Type) {
		return Header{}, nil, fmt.Errorf("%w: message of type %d, %d expected", ErrFrame, h.Type, r.only[0])
	}
	if r.admit != nil {
		if err := r.admit(int(h.Length)); err != nil {
			return Header{}, nil, err
		}
	}
	if err := r.fill(int(h.Length)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Header{}, nil, err
	}
	return h, r.buf, nil
}

// fill reads n bytes into the buffer, which grows as they arrive: a header alone does not make the
// reader allocate the declared length. A buffer for a large payload is not kept.
func (r *Reader) fill(n int) error {
	if cap(r.buf) > MaxMessage {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	for have := 0; have < n; have = len(r.buf) {
		step := min(n-have, max(have, MaxData))
		r.buf = slices.Grow(r.buf, step)[:have+step]
		if _, err := io.ReadFull(r.r, r.buf[have:]); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a frame that must be a message, and decodes it.
func (r *Reader) Read() (m Message, number uint64, err error) {
	h, payload, err := r.Next()
	if err != nil {
		return nil, 0, err
	}
	m, err = Decode(h, payload)
	return m, h.Number, err
}

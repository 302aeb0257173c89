package link

import "encoding/binary"

// frameHeads tells which writes of yamux are sent with the next one. Sent alone they would double the
// records and the wake-ups of every small message: the head of a frame, whose body is the next write,
// and the opening of a stream, which is opened to write to it.
type frameHeads struct{ body bool }

// holdBack reports whether p, the next write, is to wait for more.
func (h *frameHeads) holdBack(p []byte) bool {
	const (
		headSize, typeAt, flagsAt, lengthAt = 12, 1, 2, 8

		typeData, typeWindowUpdate = 0, 1
		flagSYN                    = 1
	)
	if h.body || len(p) != headSize {
		h.body = false
		return false
	}
	h.body = p[typeAt] == typeData && binary.BigEndian.Uint32(p[lengthAt:]) > 0
	return h.body || p[typeAt] == typeWindowUpdate && binary.BigEndian.Uint16(p[flagsAt:]) == flagSYN
}

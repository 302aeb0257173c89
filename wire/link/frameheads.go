package link

import "encoding/binary"

// frameHeads tells which writes of yamux are not sent at once, so that a short exchange takes few
// records and wakes the other side few times.
type frameHeads struct {
	body bool // the next write is a body

	// Streams that are being closed, and the other side waits for nothing more of them.
	done map[uint32]bool
}

// urgency is how soon a write must be sent.
type urgency int

const (
	atOnce   urgency = iota
	withNext         // the next write follows at once: the head of a frame, or the opening of a stream, which is opened to write to it
	late             // within lateTime: nobody waits for it
)

// of returns the urgency of p, the next write. The format is that of yamux's specification (spec.md).
func (h *frameHeads) of(p []byte) urgency {
	const (
		headSize, typeAt, flagsAt, streamAt, lengthAt = 12, 1, 2, 4, 8

		typeData, typeWindowUpdate = 0, 1
		flagSYN, flagACK, flagFIN  = 1, 2, 4
	)
	if h.body || len(p) != headSize {
		h.body = false
		return atOnce
	}
	if p[typeAt] == typeData {
		h.body = binary.BigEndian.Uint32(p[lengthAt:]) > 0
		if h.body {
			return withNext
		}
		return atOnce
	}
	if p[typeAt] != typeWindowUpdate {
		return atOnce
	}
	switch binary.BigEndian.Uint16(p[flagsAt:]) {
	case flagSYN:
		return withNext
	case flagACK: // the one who has opened the stream does not wait for that
		return late
	case flagFIN:
		if h.done[binary.BigEndian.Uint32(p[streamAt:])] {
			return late
		}
	}
	return atOnce
}

// closing says that a stream is being closed of which the other side waits for nothing more; it
// returns what says that this is over.
func (l *link) closing(stream uint32) (closed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heads.done == nil {
		l.heads.done = map[uint32]bool{}
	}
	l.heads.done[stream] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.heads.done, stream)
	}
}

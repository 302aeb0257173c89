package link

import "encoding/binary"

// frameHeads tells which writes of yamux are not sent at once, so that a short exchange takes few
// records and wakes the other side few times.
type frameHeads struct {
	body     bool // the next write is a body
	bodyLate bool // and late

	// Streams that are being written to or closed, and nobody waits for that.
	late map[uint32]bool
}

// urgency is how soon a write must be sent.
type urgency int

const (
	atOnce   urgency = iota
	withNext         // the next write follows at once: the head of a frame, or the opening of a stream, which is opened to write to it
	late             // within lateTime: nobody waits for it
)

// urgencyOf returns the urgency of p, the next write. The format is that of yamux's specification (spec.md).
func (h *frameHeads) urgencyOf(p []byte) urgency {
	const (
		headSize, typeAt, flagsAt, streamAt, lengthAt = 12, 1, 2, 4, 8

		typeData, typeWindowUpdate = 0, 1
		flagSYN, flagACK, flagFIN  = 1, 2, 4
	)
	switch {
	case h.body && h.bodyLate:
		h.body = false
		return late
	case h.body, len(p) != headSize:
		h.body = false
		return atOnce
	}
	isLate := h.late[binary.BigEndian.Uint32(p[streamAt:])]
	flags := binary.BigEndian.Uint16(p[flagsAt:])
	switch p[typeAt] {
	case typeData:
		h.body, h.bodyLate = binary.BigEndian.Uint32(p[lengthAt:]) > 0, isLate
		if h.body {
			return withNext
		}
	case typeWindowUpdate:
		switch {
		case flags == flagSYN:
			return withNext
		case flags == flagACK: // the opener waits for it only after many bytes: see muxed.Read
			return late
		case flags == flagFIN && isLate:
			return late
		}
	}
	return atOnce
}

// beginLate makes the next write to a stream, or its end, late, until endLate.
func (l *link) beginLate(stream uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heads.late == nil {
		l.heads.late = map[uint32]bool{}
	}
	l.heads.late[stream] = true
}

func (l *link) endLate(stream uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.heads.late, stream)
}

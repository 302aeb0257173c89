package link

import (
	"encoding/binary"
	"fmt"
)

// frameCheck follows the frames of yamux that come from the other side, and refuses pings: neither
// side sends them, and yamux keeps a goroutine for each that it cannot answer at once. The format is
// that of yamux's specification (spec.md).
type frameCheck struct {
	head [frameHead]byte
	have int    // bytes of head
	body uint32 // bytes of the body that are to come
}

const frameHead = 12

// next checks the bytes that come next.
func (f *frameCheck) next(p []byte) error {
	const (
		typeAt, lengthAt   = 1, 8
		typeData, typePing = 0, 2
	)
	for len(p) > 0 {
		if f.body > 0 {
			n := min(uint64(f.body), uint64(len(p)))
			f.body -= uint32(n)
			p = p[n:]
			continue
		}
		n := copy(f.head[f.have:], p)
		p = p[n:]
		if f.have += n; f.have < frameHead {
			return nil
		}
		f.have = 0
		switch f.head[typeAt] {
		case typeData:
			f.body = binary.BigEndian.Uint32(f.head[lengthAt:])
		case typePing:
			return fmt.Errorf("%w: ping", ErrProtocol)
		}
	}
	return nil
}

package link

import (
	"encoding/binary"
	"errors"
	"testing"
)

// TestFrameCheck follows frames, in pieces of each size, up to a ping.
func TestFrameCheck(t *testing.T) {
	frame := func(kind byte, length uint32, body ...byte) []byte {
		head := make([]byte, frameHead)
		head[1] = kind
		binary.BigEndian.PutUint32(head[8:], length)
		return append(head, body...)
	}
	const data, update, ping, away = 0, 1, 2, 3
	var good []byte
	for range 3 {
		good = append(good, frame(data, 0)...)
		good = append(good, frame(update, 1<<20)...)
		good = append(good, frame(data, 2*frameHead+2, frame(ping, 0, frame(ping, 1, 2, 2)...)...)...) // in the body it is none
		good = append(good, frame(away, 1)...)
	}
	all := append(good, frame(ping, 0)...)
	for size := 1; size <= len(all); size++ {
		var f frameCheck
		var err error
		at := 0
		for ; at < len(all) && err == nil; at += size {
			err = f.next(all[at:min(at+size, len(all))])
		}
		if !errors.Is(err, ErrProtocol) {
			t.Fatalf("in pieces of %d: got %v, want %v", size, err, ErrProtocol)
		}
		if at < len(good) && size < frameHead {
			t.Fatalf("in pieces of %d: byte %d of %d is refused", size, at, len(good))
		}
		f = frameCheck{}
		for at := 0; at < len(good); at += size {
			if err := f.next(good[at:min(at+size, len(good))]); err != nil {
				t.Fatalf("in pieces of %d: at %d: %v", size, at, err)
			}
		}
	}
}

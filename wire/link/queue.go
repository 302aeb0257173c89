package link

import (
	"slices"
	"sync"
)

const (
	chunkSize = 64 << 10
	chunkData = chunkSize - recordHeader
)

// chunk holds bytes of the link, after room for the header of the record that
// takes a whole chunk over the wire as it is.
type chunk [chunkSize]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// queue holds what was written to a link and is not acknowledged yet. Bytes
// are known by their offset in the link. They do not move and do not change
// until they are released, so a connection may read them while more is added.
type queue struct {
	chunks []*chunk // all but the last are full
	start  uint64   // offset of the first byte of the first chunk
	end    uint64   // offset after the last byte
}

// add copies p to the end.
func (q *queue) add(p []byte) {
	for len(p) > 0 {
		used := int(q.end-q.start) - chunkData*(len(q.chunks)-1)
		if len(q.chunks) == 0 || used == chunkData {
			q.chunks = append(q.chunks, chunks.Get().(*chunk))
			used = 0
		}
		n := copy(q.chunks[len(q.chunks)-1][recordHeader+used:], p)
		q.end += uint64(n)
		p = p[n:]
	}
}

// piece is a run of bytes within one chunk.
type piece struct {
	chunk *chunk
	from  int // index of the first byte in the chunk
	to    int // index after the last byte
}

// whole reports whether the piece is at the start of its chunk, where the
// header of its record has room.
func (p piece) whole() bool { return p.from == recordHeader }

// pieces appends to dst the bytes from offset on, at most so many pieces.
func (q *queue) pieces(dst []piece, offset uint64, most int) ([]piece, uint64) {
	for ; offset < q.end && most > 0; most-- {
		i, from := int(offset-q.start)/chunkData, int(offset-q.start)%chunkData
		to := min(from+int(q.end-offset), chunkData)
		dst = append(dst, piece{q.chunks[i], recordHeader + from, recordHeader + to})
		offset += uint64(to - from)
	}
	return dst, offset
}

// release gives back the chunks whose bytes are all before offset.
func (q *queue) release(offset uint64) {
	n := min(int(offset-q.start)/chunkData, len(q.chunks))
	for _, c := range q.chunks[:n] {
		chunks.Put(c)
	}
	q.chunks = slices.Delete(q.chunks, 0, n)
	q.start += uint64(n) * chunkData
}

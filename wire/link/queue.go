package link

import (
	"slices"
	"sync"
)

const (
	chunkSize = 64 << 10
	chunkData = chunkSize - recordHeader
)

// smallChunk is the size of the smallest chunk. Those of a queue that begins with little are each twice
// as large as the one before, up to chunkSize: most links have little to say, and thousands of them
// may say it at the same time.
const smallChunk = 2 << 10

// chunk holds bytes of the link, after room for the header of the record that
// takes a whole chunk over the wire as it is.
type chunk []byte

var (
	chunks      = sync.Pool{New: func() any { return new([chunkSize]byte) }}
	smallChunks = sync.Pool{New: func() any { return new([smallChunk]byte) }}
)

// newChunk returns a chunk with room for so many bytes, or as large as any.
func newChunk(bytes int) chunk {
	size := smallChunk
	for size < chunkSize && size < recordHeader+bytes {
		size *= 2
	}
	switch size {
	case smallChunk:
		return smallChunks.Get().(*[smallChunk]byte)[:]
	case chunkSize:
		return chunks.Get().(*[chunkSize]byte)[:]
	}
	return make(chunk, size)
}

// room returns how many bytes of the link it holds.
func (c chunk) room() int { return len(c) - recordHeader }

func (c chunk) giveBack() {
	switch len(c) {
	case smallChunk:
		smallChunks.Put((*[smallChunk]byte)(c))
	case chunkSize:
		chunks.Put((*[chunkSize]byte)(c))
	}
}

// queue holds what was written to a link and is not acknowledged yet. Bytes
// are known by their offset in the link. They do not move and do not change
// until they are released, so a connection may read them while more is added.
type queue struct {
	chunks []chunk // all but the last are full, and none is smaller than the one before
	start  uint64  // offset of the first byte of the first chunk
	end    uint64  // offset after the last byte
}

// add copies p to the end.
func (q *queue) add(p []byte) {
	for len(p) > 0 {
		last, used := q.at(q.end)
		if last == len(q.chunks) {
			need := len(p)
			if last > 0 {
				need = max(need, 2*q.chunks[last-1].room())
			}
			q.chunks = append(q.chunks, newChunk(need))
		}
		n := copy(q.chunks[last][recordHeader+used:], p)
		q.end += uint64(n)
		p = p[n:]
	}
}

// at returns in which chunk an offset is, and how many bytes are before it there. One that is at the
// end of a chunk is in the next, which there need not be.
func (q *queue) at(offset uint64) (i, from int) {
	from = int(offset - q.start)
	for i < len(q.chunks) && len(q.chunks[i]) < chunkSize {
		if from < q.chunks[i].room() {
			return i, from
		}
		from -= q.chunks[i].room()
		i++
	}
	return i + from/chunkData, from % chunkData
}

// piece is a run of bytes within one chunk.
type piece struct {
	chunk chunk
	from  int // index of the first byte in the chunk
	to    int // index after the last byte
}

// whole reports whether the piece is at the start of its chunk, where the
// header of its record has room.
func (p piece) whole() bool { return p.from == recordHeader }

// pieces appends to dst the bytes from offset on, at most so many pieces.
func (q *queue) pieces(dst []piece, offset uint64, most int) ([]piece, uint64) {
	for ; offset < q.end && most > 0; most-- {
		i, from := q.at(offset)
		to := min(from+int(q.end-offset), q.chunks[i].room())
		dst = append(dst, piece{q.chunks[i], recordHeader + from, recordHeader + to})
		offset += uint64(to - from)
	}
	return dst, offset
}

// release gives back the chunks whose bytes are all before offset. A link that is idle has
// none.
func (q *queue) release(offset uint64) {
	n, from := q.at(offset)
	start := offset - uint64(from)
	if offset == q.end {
		n, start = len(q.chunks), q.end
	}
	for _, c := range q.chunks[:n] {
		c.giveBack()
	}
	q.chunks = slices.Delete(q.chunks, 0, n)
	q.start = start
}

package link

import (
	"slices"
	"sync"
)

const (
	chunkSize = 64 << 10
	chunkData = chunkSize - recordHeader
)

// smallChunk is the size of the smallest chunk. In a queue that begins with a small one, each chunk
// is twice as large as the one before, up to chunkSize: most links have little to send, and
// thousands of them may send at the same time.
const smallChunk = 2 << 10

// chunk holds bytes of the link. They follow room for a record header, so that a whole chunk is
// sent without a copy.
type chunk []byte

var (
	chunks      = sync.Pool{New: func() any { return new([chunkSize]byte) }}
	smallChunks = sync.Pool{New: func() any { return new([smallChunk]byte) }}
)

// newChunk returns a chunk with room for a number of bytes, up to the greatest size.
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

// room returns the number of bytes of the link that it can hold.
func (c chunk) room() int { return len(c) - recordHeader }

func (c chunk) giveBack() {
	switch len(c) {
	case smallChunk:
		smallChunks.Put((*[smallChunk]byte)(c))
	case chunkSize:
		chunks.Put((*[chunkSize]byte)(c))
	}
}

// queue holds the bytes that were written to a link and are not yet acknowledged. Bytes are
// identified by their offset in the link. They neither move nor change until they are released, so
// a connection may read them while more are added.
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

// at returns the index of the chunk with an offset, and the number of bytes before the offset in
// that chunk. An offset at the end of a chunk belongs to the next chunk, which may not exist.
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

// whole reports whether the piece is at the start of its chunk, which has room for its record
// header.
func (p piece) whole() bool { return p.from == recordHeader }

// pieces appends to dst the bytes from offset on, in a limited number of pieces.
func (q *queue) pieces(dst []piece, offset uint64, most int) ([]piece, uint64) {
	for ; offset < q.end && most > 0; most-- {
		i, from := q.at(offset)
		to := min(from+int(q.end-offset), q.chunks[i].room())
		dst = append(dst, piece{q.chunks[i], recordHeader + from, recordHeader + to})
		offset += uint64(to - from)
	}
	return dst, offset
}

// release gives back the chunks whose bytes are all before offset. An idle link has no chunks.
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

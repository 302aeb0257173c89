package link

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestQueue compares the queue with a plain slice of all bytes, over random adds, reads from any
// offset that is not released, and releases.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q queue
	var all []byte
	released := 0
	for range 2000 {
		add := make([]byte, random.IntN(3*chunkData/2))
		if random.IntN(3) > 0 {
			add = add[:min(len(add), random.IntN(100))]
		}
		for i := range add {
			add[i] = byte(random.Uint32())
		}
		all = append(all, add...)
		q.add(add)
		if q.end != uint64(len(all)) {
			t.Fatalf("end is %d, want %d", q.end, len(all))
		}

		from := released + random.IntN(len(all)-released+1)
		pieces, to := q.pieces(nil, uint64(from), 1+random.IntN(4))
		var got []byte
		for _, p := range pieces {
			if p.from < recordHeader || p.from >= p.to || p.to > len(p.chunk) {
				t.Fatalf("a piece from %d to %d", p.from, p.to)
			}
			got = append(got, p.chunk[p.from:p.to]...)
		}
		if !bytes.Equal(got, all[from:to]) || (to == uint64(from)) != (from == len(all)) {
			t.Fatalf("the bytes from %d to %d are others", from, to)
		}

		released += random.IntN(len(all) - released + 1)
		q.release(uint64(released))
		if kept := len(q.chunks); kept > (len(all)-released)/chunkData+7 || released == len(all) && kept > 0 {
			t.Fatalf("%d chunks kept for %d bytes", kept, len(all)-released)
		}
	}
	q.release(q.end)
	if len(q.chunks) > 0 {
		t.Errorf("%d chunks kept after all were released", len(q.chunks))
	}
}

// TestQueueGrows adds few bytes at a time: the queue never takes much more memory than they do.
func TestQueueGrows(t *testing.T) {
	var q queue
	for bytes := 0; bytes < 3*chunkSize; bytes += 100 {
		q.add(make([]byte, 100))
		kept := 0
		for _, c := range q.chunks {
			kept += len(c)
		}
		if most := 3*(bytes+100) + 2*smallChunk; kept > most {
			t.Fatalf("%d bytes are kept for %d", kept, bytes+100)
		}
	}
}

package client

import (
	"fmt"
	"math"

	"bproc/wire"
)

// Sizes of the ring for standard input: most commands read little.
const (
	firstRing  = 2 << 10
	ringGrowth = 8
)

// allTaken is what the node says that it has taken when it will take no more.
const allTaken = math.MaxUint64

// kept is standard input that may have to be sent again: the node has not said yet
// that it has taken it. Bytes are counted from the start of the process.
type kept struct {
	ring  []byte // byte n is at n modulo its size
	taken uint64
	sent  uint64
	end   uint64 // of what has been read

	eof     bool // nothing comes after end
	eofSent bool
	over    bool // the node has taken that too, or takes nothing any more
}

// room returns where the next bytes are to be read to. There is none while the window
// is full.
func (k *kept) room() []byte {
	size := uint64(len(k.ring))
	used := k.end - k.taken
	if used == size && size < wire.Window {
		k.grow()
		size = uint64(len(k.ring))
	}
	if used == size {
		return nil
	}
	at := k.end % size
	return k.ring[at:min(size, at+size-used)]
}

func (k *kept) grow() {
	ring := make([]byte, max(firstRing, min(len(k.ring)*ringGrowth, wire.Window)))
	for n := k.taken; n < k.end; {
		from := k.ring[n%uint64(len(k.ring)):]
		from = from[:min(uint64(len(from)), k.end-n)]
		n += uint64(copy(ring[n%uint64(len(ring)):], from))
	}
	k.ring = ring
}

// next returns what is to be sent next, at most a number of bytes. Nothing, with some, is the
// end of the file.
func (k *kept) next(most uint64) (data []byte, some bool) {
	switch {
	case k.over:
		return nil, false
	case k.sent == k.end:
		return nil, k.eof && !k.eofSent
	}
	size := uint64(len(k.ring))
	at := k.sent % size
	return k.ring[at:min(size, at+min(k.end-k.sent, most))], true
}

// passed takes in that something is being sent.
func (k *kept) passed(data []byte) {
	k.sent += uint64(len(data))
	if len(data) == 0 {
		k.eofSent = true
	}
}

// take takes in how much the node has.
func (k *kept) take(taken uint64) error {
	switch {
	case taken == allTaken:
		k.over, k.ring = true, nil
		k.taken, k.sent = k.end, k.end
	case taken > k.sent:
		return fmt.Errorf("%w: %d bytes of input taken, and %d sent", wire.ErrFrame, taken, k.sent)
	case taken > k.taken:
		k.taken = taken
	}
	return nil
}

// renew begins with another connection: what the node has not got is sent again.
func (k *kept) renew(taken uint64) error {
	if taken < k.taken {
		return fmt.Errorf("%w: %d bytes of input taken after %d were", wire.ErrFrame, taken, k.taken)
	}
	if err := k.take(taken); err != nil {
		return err
	}
	k.sent, k.eofSent = k.taken, false
	return nil
}

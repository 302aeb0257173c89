package space

import (
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// cursor is the connection to the fence, which keeps the space's cursor within a block (package
// pid1): a pipe that is read at once, however busy bpinit and this daemon are.
type cursor struct {
	mu   sync.Mutex
	pipe int // 0: there is none
}

// put writes an order, as numbers of 32 bits.
func (c *cursor) put(order ...wire.PID) error {
	var text []byte
	for _, pid := range order {
		text = binary.NativeEndian.AppendUint32(text, uint32(pid))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pipe == 0 {
		return ErrGone
	}
	_, err := unix.Write(c.pipe, text)
	return err
}

func (c *cursor) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pipe := c.pipe
	c.pipe = 0
	if pipe == 0 {
		return nil
	}
	return unix.Close(pipe)
}

// SetCursor makes next the number that the space's kernel gives to the next
// process that is forked, or the first free one after it.
func (s *Space) SetCursor(next wire.PID) error {
	err := s.orderCursor(&wire.InitCursor{Next: next}, next, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("cursor to %d: %w", next, err)
	}
	return nil
}

// Fence has the cursor kept in a block. If the daemon does not move it before the end of the block,
// it goes to another block, which may be the same.
func (s *Space) Fence(block, other wire.Block) error {
	err := s.orderCursor(&wire.InitFence{First: block.First, End: block.End()},
		0, block.First, block.End(), other.First, other.End())
	if err != nil {
		return fmt.Errorf("fence from %d to %d: %w", block.First, block.End(), err)
	}
	return nil
}

// orderCursor writes an order, or the message that an init of the version before takes instead.
func (s *Space) orderCursor(former wire.Message, order ...wire.PID) error {
	if s.former {
		return s.out.put(0, former)
	}
	return s.cursor.put(order...)
}

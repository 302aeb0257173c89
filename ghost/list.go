package ghost

import "encoding/binary"

// calling is a system call to make: its number and six arguments, as they are laid out in a list in
// a ghost's memory.
type calling [7]uint64

const sizeofCalling = 7 * 8

func newCalling(number uint64, args ...uint64) (c calling) {
	c[0] = number
	copy(c[1:], args)
	return c
}

// list is a series of system calls that a ghost makes without stopping, until one fails. One stop
// of a ghost costs its keeper more than many calls do.
type list struct {
	addr  uint64 // of data in the ghost
	data  []byte // that arguments point to
	calls []calling
	after []func() // run after each call's success; nil: the keeper need not know of it
}

// list returns an empty list in the scratch memory of a ghost.
func (d *driven) list() *list { return &list{addr: d.scratch()} }

// put puts data into the ghost's memory and returns its address.
func (l *list) put(data []byte) uint64 {
	addr := l.addr + uint64(len(l.data))
	l.data = append(append(l.data, data...), make([]byte, -len(data)&7)...)
	return addr
}

// call adds a system call.
func (l *list) call(number uint64, args ...uint64) { l.callThen(nil, number, args...) }

// callThen adds a system call, and runs after when it has succeeded.
func (l *list) callThen(after func(), number uint64, args ...uint64) {
	l.calls = append(l.calls, newCalling(number, args...))
	l.after = append(l.after, after)
}

// block returns the bytes to write at l.addr, and the address of the first calling. A negative
// number ends the list.
func (l *list) block() (block []byte, first uint64) {
	block, first = l.data, l.addr+uint64(len(l.data))
	for _, c := range l.calls {
		for _, word := range c {
			block = appendWord(block, word)
		}
	}
	return appendWord(block, ^uint64(0)), first
}

func appendWord(b []byte, w uint64) []byte { return binary.NativeEndian.AppendUint64(b, w) }

package ghost

import "encoding/binary"

// calling is a system call to be made: its number and six arguments, as they lie in a
// list in a ghost's memory.
type calling [7]uint64

const sizeofCalling = 7 * 8

func newCalling(number uint64, args ...uint64) (c calling) {
	c[0] = number
	copy(c[1:], args)
	return c
}

// list is system calls that a ghost makes in one go, until one fails. Each stop of a
// ghost costs its keeper more than many a call does.
type list struct {
	addr  uint64 // of data in the ghost
	data  []byte // what arguments point to
	calls []calling
	after []func() // for each: what it has changed; nil: nothing that the keeper must know
}

// list returns an empty one for the scratch memory of a ghost.
func (d *driven) list() *list { return &list{addr: d.scratch()} }

// put puts data into the ghost's memory and returns the address.
func (l *list) put(data []byte) uint64 {
	addr := l.addr + uint64(len(l.data))
	l.data = append(append(l.data, data...), make([]byte, -len(data)&7)...)
	return addr
}

// call adds a system call.
func (l *list) call(number uint64, args ...uint64) { l.callThen(nil, number, args...) }

// callThen adds one after whose success something is to be noted.
func (l *list) callThen(after func(), number uint64, args ...uint64) {
	l.calls = append(l.calls, newCalling(number, args...))
	l.after = append(l.after, after)
}

// block returns what is to be written at l.addr, and the address of the first calling.
// A number below zero ends the list.
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

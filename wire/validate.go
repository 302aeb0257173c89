package wire

import "errors"

// maxDepth bounds how deep arrays and maps are nested in a message. The deepest message of this
// protocol needs 5. The decoder skips unknown fields by recursion, and a stack overflow cannot be
// recovered.
const maxDepth = 32

// Errors of a payload. Callers get them wrapped in [ErrFrame].
var (
	errShort    = errors.New("declared lengths go beyond the payload")
	errDeep     = errors.New("arrays are nested too deep")
	errCode     = errors.New("msgpack code that no message uses")
	errTrailing = errors.New("bytes after the message")
	errLarge    = errors.New("the message is much larger in memory than it is here")
)

// shape is how a msgpack value continues after its first byte.
type shape uint8

const (
	shapeNone   shape = iota // not allowed
	shapeScalar              // width bytes follow
	shapeBytes               // a length of width bytes follows, then the bytes
	shapeArray               // a count of width bytes follows, then the elements
	shapeMap                 // a count of width bytes follows, then keys and values
)

// code describes one first byte.
type code struct {
	shape shape
	width uint8
}

// codes are the first bytes 0xc0 to 0xdf; all others contain their value or length. Extension types
// and 0xc1, which the format never uses, are left out.
var codes = [32]code{
	0x00: {shapeScalar, 0},                         // nil
	0x02: {shapeScalar, 0}, 0x03: {shapeScalar, 0}, // false, true
	0x04: {shapeBytes, 1}, 0x05: {shapeBytes, 2}, 0x06: {shapeBytes, 4}, // bin
	0x0a: {shapeScalar, 4}, 0x0b: {shapeScalar, 8}, // float
	0x0c: {shapeScalar, 1}, 0x0d: {shapeScalar, 2}, 0x0e: {shapeScalar, 4}, 0x0f: {shapeScalar, 8}, // uint
	0x10: {shapeScalar, 1}, 0x11: {shapeScalar, 2}, 0x12: {shapeScalar, 4}, 0x13: {shapeScalar, 8}, // int
	0x19: {shapeBytes, 1}, 0x1a: {shapeBytes, 2}, 0x1b: {shapeBytes, 4}, // str
	0x1c: {shapeArray, 2}, 0x1d: {shapeArray, 4},
	0x1e: {shapeMap, 2}, 0x1f: {shapeMap, 4},
}

// validate walks a payload and reports whether it is exactly one msgpack value whose declared
// lengths and counts fit into the payload. It allocates nothing. The decoder allocates what a count
// declares before it looks further, so it may only be given payloads that have passed here.
func validate(payload []byte) error {
	var left [maxDepth + 1]uint64 // elements still to come, by depth
	left[0] = 1
	depth, rest := 0, payload
	for {
		for left[depth] == 0 {
			if depth == 0 {
				if len(rest) != 0 {
					return errTrailing
				}
				return nil
			}
			depth--
		}
		left[depth]--
		size, elements, err := measure(rest)
		switch {
		case err != nil:
			return err
		case size > uint64(len(rest)):
			return errShort
		}
		rest = rest[size:]
		if elements == 0 {
			continue
		}
		// An element has at least one byte.
		if elements > uint64(len(rest)) {
			return errShort
		}
		if depth == maxDepth {
			return errDeep
		}
		depth++
		left[depth] = elements
	}
}

// measure returns the number of bytes of the value at the start of b without its elements, and the
// number of elements that follow. The size may be larger than b.
func measure(b []byte) (size, elements uint64, err error) {
	if len(b) == 0 {
		return 0, 0, errShort
	}
	switch c := b[0]; {
	case c < 0x80 || c >= 0xe0: // small integers
		return 1, 0, nil
	case c < 0x90: // small map
		return 1, 2 * uint64(c&0x0f), nil
	case c < 0xa0: // small array
		return 1, uint64(c & 0x0f), nil
	case c < 0xc0: // short string
		return 1 + uint64(c&0x1f), 0, nil
	}
	form := codes[b[0]-0xc0]
	head := 1 + uint64(form.width)
	if form.shape == shapeNone {
		return 0, 0, errCode
	}
	if form.shape == shapeScalar {
		return head, 0, nil
	}
	if uint64(len(b)) < head {
		return 0, 0, errShort
	}
	var n uint64
	for _, digit := range b[1:head] { // big-endian
		n = n<<8 | uint64(digit)
	}
	switch form.shape {
	case shapeBytes:
		return head + n, 0, nil
	case shapeMap:
		return head, 2 * n, nil
	default:
		return head, n, nil
	}
}

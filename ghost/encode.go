package ghost

import (
	"encoding/binary"
	"unsafe"
)

// bytes returns the arguments as they are in memory.
func (a *cloneArgs) bytes() []byte {
	return (*[unsafe.Sizeof(*a)]byte)(unsafe.Pointer(a))[:]
}

func appendWord(b []byte, w uint64) []byte { return binary.NativeEndian.AppendUint64(b, w) }

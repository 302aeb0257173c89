package ghost

import "unsafe"

// bytes returns the arguments as they are laid out in memory.
func (a *cloneArgs) bytes() []byte {
	return (*[unsafe.Sizeof(*a)]byte)(unsafe.Pointer(a))[:]
}

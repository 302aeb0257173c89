package wire

import (
	"encoding/binary"
	"syscall"
)

// SizeofSiginfo is the size of a siginfo_t in bytes (sigaction(2)): that of Info in all messages
// about signals.
const SizeofSiginfo = 128

// KernelSignal returns the siginfo_t of a signal without a sender (SI_KERNEL of
// asm-generic/siginfo.h).
func KernelSignal(sig syscall.Signal) []byte {
	const siKernel = 0x80
	info := make([]byte, SizeofSiginfo)
	binary.LittleEndian.PutUint32(info[0:], uint32(sig))
	binary.LittleEndian.PutUint32(info[8:], siKernel)
	return info
}

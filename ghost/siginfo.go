package ghost

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Codes of a siginfo_t (asm-generic/siginfo.h).
const (
	siUser   = 0
	siKernel = 0x80
	siQueue  = -1
)

// Offsets of the fields of a siginfo_t on 64-bit machines: the same for all architectures of Go
// except MIPS.
const (
	offSigno = 0
	offCode  = 8
	offPid   = 16
	offUID   = 20
	offValue = 24
)

func (s *siginfo) signal() unix.Signal { return unix.Signal(binary.LittleEndian.Uint32(s[offSigno:])) }
func (s *siginfo) code() int32         { return int32(binary.LittleEndian.Uint32(s[offCode:])) }
func (s *siginfo) sender() wire.PID    { return wire.PID(binary.LittleEndian.Uint32(s[offPid:])) }
func (s *siginfo) value() uint64       { return binary.LittleEndian.Uint64(s[offValue:]) }

// lost reports whether the kernel had no room to keep a signal's sender and value
// (RLIMIT_SIGPENDING).
func (s *siginfo) lost() bool { return s.code() == siUser && s.sender() == 0 }

// signalInfo returns a siginfo_t with a signal and a code only.
func signalInfo(sig unix.Signal, code int32) *siginfo {
	info := new(siginfo)
	binary.LittleEndian.PutUint32(info[offSigno:], uint32(sig))
	binary.LittleEndian.PutUint32(info[offCode:], uint32(code))
	return info
}

// queueSignal is sigqueue(3): a signal with a value.
func queueSignal(pid wire.PID, sig unix.Signal, value uint64) error {
	info := signalInfo(sig, siQueue)
	binary.LittleEndian.PutUint32(info[offPid:], uint32(unix.Getpid()))
	binary.LittleEndian.PutUint32(info[offUID:], uint32(unix.Getuid()))
	binary.LittleEndian.PutUint64(info[offValue:], value)
	_, _, errno := unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(info)))
	if errno != 0 {
		return errno
	}
	return nil
}

package filter

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ABI is one system call interface: its AUDIT_ARCH number and the numbers that
// the intercepted calls have in it. The native one is init's own.
type ABI struct {
	Arch   uint32
	Native bool
	Calls  map[uint32]Call
}

// ABIs returns the interfaces of this machine.
func ABIs() []ABI { return abis }

// Lookup returns the intercepted call of a notification.
func Lookup(arch uint32, nr int32) (Call, bool) {
	for _, abi := range abis {
		if abi.Arch == arch {
			call, ok := abi.Calls[uint32(nr)]
			return call, ok
		}
	}
	return 0, false
}

// Offsets in struct seccomp_data.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
)

// argument returns the offset of the lower half of an argument, which is all
// that the kernel takes of an int; both machines are little-endian.
func argument(n uint32) uint32 { return offsetArgs + 8*n }

// cookieArg is the argument in which init passes its cookie: the last, which no
// intercepted call has.
const cookieArg = 5

// Instructions returns the program:
//
//	load arch
//	for each interface:  arch is another: skip
//	                     the interface's part
//	ENOSYS
func Instructions(cookie uint64, home Home) []bpf.Instruction {
	prog := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetArch, Size: 4}}
	for _, abi := range abis {
		own := cookie
		if !abi.Native {
			own = 0
		}
		part := block(abi, own, home)
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: abi.Arch, SkipFalse: uint8(len(part))})
		prog = append(prog, part...)
	}
	return append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
}

// Program returns the program in the form that the kernel takes.
func Program(cookie uint64, home Home) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(Instructions(cookie, home))
	if err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return prog, nil
}

package filter

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Call is a system call that the supervisor answers.
type Call uint8

// The calls, independent of the interface they come through.
const (
	Getppid Call = 1
)

// ABI is one system call interface: its AUDIT_ARCH number and the numbers that
// the intercepted calls have in it.
type ABI struct {
	Arch  uint32
	Calls map[uint32]Call
}

// Offsets in struct seccomp_data.
const (
	offsetNr   = 0
	offsetArch = 4
)

// ABIs returns the interfaces of this machine.
func ABIs() []ABI { return abis }

// Lookup returns which intercepted call a notification is about.
func Lookup(arch uint32, nr int32) (Call, bool) {
	for _, abi := range abis {
		if abi.Arch == arch {
			call, ok := abi.Calls[uint32(nr)]
			return call, ok
		}
	}
	return 0, false
}

// Instructions returns the program:
//
//	load arch
//	for each interface:  arch is another: skip
//	                     load nr
//	                     nr is an intercepted call's: ask the supervisor
//	                     allow
//	ENOSYS
func Instructions() []bpf.Instruction {
	prog := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetArch, Size: 4}}
	for _, abi := range abis {
		block := block(abi)
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: abi.Arch, SkipFalse: uint8(len(block))})
		prog = append(prog, block...)
	}
	return append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
}

func block(abi ABI) []bpf.Instruction {
	block := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetNr, Size: 4}}
	left := len(abi.Calls)
	for _, nr := range slices.Sorted(maps.Keys(abi.Calls)) {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipTrue: uint8(left)})
		left--
	}
	return append(block,
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
}

// Program returns the program as the kernel takes it.
func Program() ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(Instructions())
	if err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return prog, nil
}

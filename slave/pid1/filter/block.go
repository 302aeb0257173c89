package filter

import (
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// block returns the part of one interface. Without a cookie (0) nobody has one.
//
//	         load nr
//	         nr is an intercepted call's: go to its rule
//	         allow
//	another: load argument 0; 0: go to allowed; go to asked
//	traits:  load argument 0; one of the options: go to asked; allow
//	attach:  load argument 0; one of the requests: go to asked; allow
//	asked:   load both halves of argument 5; the cookie: go to allowed
//	notify:  ask the supervisor
//	allowed: allow
//
// Jumps are at most 255 instructions long.
func block(abi ABI, cookie uint64) []bpf.Instruction {
	tail, at := rules(cookie)
	block := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetNr, Size: 4}}
	left := len(abi.Calls)
	for _, nr := range slices.Sorted(maps.Keys(abi.Calls)) {
		// Behind this instruction: the other numbers, "allow", the rules.
		to := left + at[abi.Calls[nr].rule()]
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipTrue: uint8(to)})
		left--
	}
	block = append(block, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	return append(block, tail...)
}

// rules returns what comes behind the numbers, and where in it each rule begins.
func rules(cookie uint64) (tail []bpf.Instruction, at [4]int) {
	var asked []bpf.Instruction
	if cookie != 0 {
		asked = []bpf.Instruction{
			bpf.LoadAbsolute{Off: argument(cookieArg), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(cookie), SkipFalse: 2},
			bpf.LoadAbsolute{Off: argument(cookieArg) + 4, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(cookie >> 32), SkipTrue: 1},
		}
	}
	asked = append(asked,
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	)
	request := oneOf(requests, 0)
	option := oneOf(options, len(request))
	chosen := slices.Concat(option, request)
	zero := []bpf.Instruction{
		bpf.LoadAbsolute{Off: argument(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: uint8(len(chosen) + len(asked) - 1), SkipFalse: uint8(len(chosen))},
	}
	at[another] = 0
	at[traits] = len(zero)
	at[attach] = at[traits] + len(option)
	at[anything] = at[attach] + len(request)
	return slices.Concat(zero, chosen, asked), at
}

// oneOf jumps over as many instructions as lie behind it if argument 0 is one of the
// values; else it allows.
func oneOf(values []uint32, behind int) []bpf.Instruction {
	prog := []bpf.Instruction{bpf.LoadAbsolute{Off: argument(0), Size: 4}}
	for i, value := range values {
		// Behind this instruction also: the other values, "allow".
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(values) - i + behind)})
	}
	return append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

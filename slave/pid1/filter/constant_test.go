package filter_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
)

// constAllow is seccomp_is_const_allow of kernel/seccomp.c (Linux 5.11), by which the kernel finds
// out beforehand for which numbers a program always allows the call. It gives up at the first
// instruction whose effect can depend on anything but the interface and the number.
func constAllow(prog []unix.SockFilter, arch, nr uint32) bool {
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		in := prog[pc]
		var taken bool
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch in.K {
			case 0:
				a = nr
			case 4:
				a = arch
			default:
				return false
			}
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K == unix.SECCOMP_RET_ALLOW
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			taken = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			taken = a >= in.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			taken = a > in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			taken = a&in.K != 0
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		default:
			return false
		}
		if taken {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	return false
}

func TestOtherCallsCostNothing(t *testing.T) {
	prog, err := filter.Program(cookie, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, abi := range filter.ABIs() {
		for nr := range uint32(1024) {
			_, intercepted := abi.Calls[nr]
			if got := constAllow(prog, abi.Arch, nr); got == intercepted {
				t.Errorf("arch %#x nr %d: always allowed: %v, want %v", abi.Arch, nr, got, !intercepted)
			}
		}
	}
	if constAllow(prog, 0x12345678, unix.SYS_READ) {
		t.Error("an unknown interface is always allowed")
	}
}

// The kernel refuses a program with a jump beyond its end, and one that is too long.
func TestTheKernelTakesTheProgram(t *testing.T) {
	prog, err := filter.Program(cookie, home)
	if err != nil {
		t.Fatal(err)
	}
	for pc, in := range prog {
		if in.Code&7 == unix.BPF_JMP && (pc+1+int(in.Jt) >= len(prog) || pc+1+int(in.Jf) >= len(prog)) {
			t.Errorf("instruction %d jumps out of the program", pc)
		}
	}
	if len(prog) > 4096 { // BPF_MAXINSNS
		t.Errorf("%d instructions", len(prog))
	}
}

package ghost

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
)

// AdoptTime is the lifetime, in seconds, of a ghost that is not adopted. The image sets an alarm
// for it; the keeper drops the signal.
const AdoptTime = 8

// imageBase is the load address of the image: above vm.mmap_min_addr everywhere.
const imageBase = 0x10000

// code is the machine code of an image.
type code struct {
	machine elf.Machine
	text    []byte
	wait    uint64 // offset of the loop that waits

	// Offsets of the code that the keeper makes a ghost run, see calling.
	list uint64
	one  uint64
	make uint64
	said uint64 // of the code after the ghost has said that it is done
}

// codes has the code for each architecture. In C:
//
//	alarm(AdoptTime);                            // a ghost that nobody adopts ends
//	prctl(PR_SET_NAME, basename(argv[0]));       // execve has set "ghost"
//	sigaction(SIGCHLD, &(struct sigaction){SIG_IGN}, NULL); // the kernel reaps ghost children
//	sigaction(SIGRTMAX, &(struct sigaction){SIG_IGN}, NULL); // see markSignal
//	wait:
//	for (;;)
//		pause();
//
// The keeper puts a ghost at one of the places below. next, result and self are registers that
// system calls leave alone: r12, r13 and r14 of amd64, x19 to x21 of arm64.
//
//	list:
//	do {
//		if (next->number < 0) break;
//		result = syscall(next->number, next->args...);
//		next++;
//	} while (result >= 0);
//	say: kill(self, SIGRTMAX); // see said
//	said: goto wait;
//	one: result = syscall(...); goto say; // number and arguments are in their registers
//	make: result = syscall(...); if (result >= 0) goto wait; goto say;
//
// arm64 has neither alarm nor pause; setitimer and ppoll without descriptors do the same there.
var codes = map[string]code{
	"amd64": {
		machine: elf.EM_X86_64, wait: 0x5b, list: 0x64, one: 0xaa, make: 0xb1, said: 0xa8,
		text: []byte{
			0xb8, 37, 0, 0, 0, // mov eax, SYS_alarm
			0xbf, AdoptTime, 0, 0, 0, // mov edi, AdoptTime
			0x0f, 0x05, // syscall
			0x48, 0x8b, 0x74, 0x24, 0x08, // mov rsi, [rsp+8]: argv[0]
			0x48, 0x85, 0xf6, // test rsi, rsi
			0x74, 0x1e, // jz ignore
			0x48, 0x89, 0xf7, // mov rdi, rsi
			0x8a, 0x07, // scan: mov al, [rdi]
			0x48, 0xff, 0xc7, // inc rdi
			0x3c, '/', // cmp al, '/'
			0x48, 0x0f, 0x44, 0xf7, // cmove rsi, rdi
			0x84, 0xc0, // test al, al
			0x75, 0xf1, // jnz scan
			0xbf, 15, 0, 0, 0, // mov edi, PR_SET_NAME
			0xb8, 157, 0, 0, 0, // mov eax, SYS_prctl
			0x0f, 0x05, // syscall
			0xb8, 13, 0, 0, 0, // ignore: mov eax, SYS_rt_sigaction
			0xbf, 17, 0, 0, 0, // mov edi, SIGCHLD
			0x48, 0x8d, 0x35, 0x78, 0, 0, 0, // lea rsi, [rip+action]
			0x31, 0xd2, // xor edx, edx
			0x41, 0xba, 8, 0, 0, 0, // mov r10d, 8
			0x0f, 0x05, // syscall
			0xb8, 13, 0, 0, 0, // mov eax, SYS_rt_sigaction
			0xbf, byte(markSignal), 0, 0, 0, // mov edi, SIGRTMAX
			0x0f, 0x05, // syscall
			0xb8, 34, 0, 0, 0, // wait: mov eax, SYS_pause
			0x0f, 0x05, // syscall
			0xeb, 0xf7, // jmp wait
			0x49, 0x8b, 0x04, 0x24, // list: mov rax, [r12]: number
			0x48, 0x85, 0xc0, // test rax, rax
			0x78, 0x2c, // js say
			0x49, 0x8b, 0x7c, 0x24, 8, // mov rdi, [r12+8]
			0x49, 0x8b, 0x74, 0x24, 16, // mov rsi, [r12+16]
			0x49, 0x8b, 0x54, 0x24, 24, // mov rdx, [r12+24]
			0x4d, 0x8b, 0x54, 0x24, 32, // mov r10, [r12+32]
			0x4d, 0x8b, 0x44, 0x24, 40, // mov r8, [r12+40]
			0x4d, 0x8b, 0x4c, 0x24, 48, // mov r9, [r12+48]
			0x0f, 0x05, // syscall
			0x49, 0x89, 0xc5, // mov r13, rax
			0x49, 0x83, 0xc4, sizeofCalling, // add r12, 56
			0x48, 0x85, 0xc0, // test rax, rax
			0x79, 0xcb, // jns list
			0xb8, 62, 0, 0, 0, // say: mov eax, SYS_kill
			0x4c, 0x89, 0xf7, // mov rdi, r14
			0xbe, byte(markSignal), 0, 0, 0, // mov esi, SIGRTMAX
			0x0f, 0x05, // syscall
			0xeb, 0xb1, // said: jmp wait
			0x0f, 0x05, // one: syscall
			0x49, 0x89, 0xc5, // mov r13, rax
			0xeb, 0xe8, // jmp say
			0x0f, 0x05, // make: syscall
			0x49, 0x89, 0xc5, // mov r13, rax
			0x48, 0x85, 0xc0, // test rax, rax
			0x79, 0xa0, // jns wait
			0xeb, 0xdc, // jmp say
			1, 0, 0, 0, 0, 0, 0, 0, // action: SIG_IGN
			0, 0, 0, 0, 0, 0, 0, 0, // flags
			0, 0, 0, 0, 0, 0, 0, 0, // restorer
			0, 0, 0, 0, 0, 0, 0, 0, // mask
		},
	},
	"arm64": {
		machine: elf.EM_AARCH64, wait: 0x70, list: 0x8c, one: 0xc4, make: 0xd0, said: 0xc0,
		text: words(
			0xd10083ff,                       // sub sp, sp, #32
			0xa9007fff,                       // stp xzr, xzr, [sp]: interval
			0xd2800000|AdoptTime<<5,          // mov x0, #AdoptTime
			0xa9017fe0,                       // stp x0, xzr, [sp, #16]: value
			0xd2800000,                       // mov x0, #ITIMER_REAL
			0x910003e1,                       // mov x1, sp
			0xd2800002,                       // mov x2, #0
			0xd2800ce8,                       // mov x8, #SYS_setitimer
			0xd4000001,                       // svc #0
			0x910083ff,                       // add sp, sp, #32
			0xf94007e1,                       // ldr x1, [sp, #8]: argv[0]
			0xb4000121,                       // cbz x1, ignore
			0xaa0103e2,                       // mov x2, x1
			0x38401443,                       // scan: ldrb w3, [x2], #1
			0x7100bc7f,                       // cmp w3, #'/'
			0x9a810041,                       // csel x1, x2, x1, eq
			0x35ffffa3,                       // cbnz w3, scan
			0xd28001e0,                       // mov x0, #PR_SET_NAME
			0xd28014e8,                       // mov x8, #SYS_prctl
			0xd4000001,                       // svc #0
			0xd2800220,                       // ignore: mov x0, #SIGCHLD
			0x10000461,                       // adr x1, action
			0xd2800002,                       // mov x2, #0
			0xd2800103,                       // mov x3, #8
			0xd28010c8,                       // mov x8, #SYS_rt_sigaction
			0xd4000001,                       // svc #0
			0xd2800000|uint32(markSignal)<<5, // mov x0, #SIGRTMAX
			0xd4000001,                       // svc #0
			0xd2800000,                       // wait: mov x0, #0
			0xd2800001,                       // mov x1, #0
			0xd2800002,                       // mov x2, #0
			0xd2800003,                       // mov x3, #0
			0xd2800928,                       // mov x8, #SYS_ppoll
			0xd4000001,                       // svc #0
			0x17fffffa,                       // b wait
			0xf9400268,                       // list: ldr x8, [x19]: number
			0xb7f80108,                       // tbnz x8, #63, say
			0xa9408660,                       // ldp x0, x1, [x19, #8]
			0xa9418e62,                       // ldp x2, x3, [x19, #24]
			0xa9429664,                       // ldp x4, x5, [x19, #40]
			0xd4000001,                       // svc #0
			0xaa0003f4,                       // mov x20, x0
			0x91000273|sizeofCalling<<10,     // add x19, x19, #56
			0xb6ffff00,                       // tbz x0, #63, list
			0xaa1503e0,                       // say: mov x0, x21
			0xd2800001|uint32(markSignal)<<5, // mov x1, #SIGRTMAX
			0xd2801028,                       // mov x8, #SYS_kill
			0xd4000001,                       // svc #0
			0x17ffffec,                       // said: b wait
			0xd4000001,                       // one: svc #0
			0xaa0003f4,                       // mov x20, x0
			0x17fffff9,                       // b say
			0xd4000001,                       // make: svc #0
			0xaa0003f4,                       // mov x20, x0
			0xb6fffca0,                       // tbz x0, #63, wait
			0x17fffff5,                       // b say
			1, 0,                             // action: SIG_IGN
			0, 0, // flags
			0, 0, // restorer
			0, 0, // mask
		),
	},
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// headers precede the code in the file.
type headers struct {
	File    elf.Header64
	Program elf.Prog64
}

var textOffset = uint64(binary.Size(headers{}))

// Image returns the ghost's image for an architecture, named as in Go: a static ELF executable of
// one segment.
func Image(arch string) ([]byte, error) {
	c, ok := codes[arch]
	if !ok {
		return nil, fmt.Errorf("no ghost image for architecture %s", arch)
	}
	size := textOffset + uint64(len(c.text))
	h := headers{
		File: elf.Header64{
			Type: uint16(elf.ET_EXEC), Machine: uint16(c.machine), Version: uint32(elf.EV_CURRENT),
			Entry: imageBase + textOffset, Phoff: uint64(binary.Size(elf.Header64{})),
			Ehsize: uint16(binary.Size(elf.Header64{})), Phentsize: uint16(binary.Size(elf.Prog64{})), Phnum: 1,
		},
		Program: elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
			Vaddr: imageBase, Paddr: imageBase, Filesz: size, Memsz: size, Align: 0x1000,
		},
	}
	copy(h.File.Ident[:], elf.ELFMAG)
	h.File.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	h.File.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	h.File.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, h); err != nil {
		return nil, err
	}
	out.Write(c.text)
	return out.Bytes(), nil
}

// here is the code for the architecture of this program.
var here = codes[runtime.GOARCH]

// textAddr returns the address in every ghost of an offset of the code.
func textAddr(offset uint64) uint64 { return imageBase + textOffset + offset }

// waits reports whether a ghost whose next instruction is at pc has run all code before its waiting
// loop.
func waits(pc uint64) bool { return pc >= textAddr(here.wait) }

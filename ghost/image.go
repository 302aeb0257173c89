package ghost

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
)

// AdoptTime is how long a ghost lives that nobody adopts, in seconds. The image
// sets an alarm for it; the keeper drops the signal.
const AdoptTime = 8

// imageBase is where the image is loaded: above vm.mmap_min_addr everywhere.
const imageBase = 0x10000

// code is the machine code of an image.
type code struct {
	machine elf.Machine
	text    []byte
	wait    uint64 // offset of the loop that waits
	call    uint64 // offset of the system call instruction in it
}

// codes has the code for each architecture. In the words of C:
//
//	alarm(AdoptTime);                            // a ghost that nobody adopts ends
//	prctl(PR_SET_NAME, basename(argv[0]));       // execve has set "ghost"
//	sigaction(SIGCHLD, &(struct sigaction){SIG_IGN}, NULL); // the kernel reaps ghost children
//	sigaction(SIGRTMAX, &(struct sigaction){SIG_IGN}, NULL); // see markSignal
//	for (;;)
//		pause();
//
// arm64 has neither alarm nor pause; setitimer and ppoll without descriptors do
// the same there.
var codes = map[string]code{
	"amd64": {
		machine: elf.EM_X86_64, wait: 0x5b, call: 0x60,
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
			0x48, 0x8d, 0x35, 0x1f, 0, 0, 0, // lea rsi, [rip+action]
			0x31, 0xd2, // xor edx, edx
			0x41, 0xba, 8, 0, 0, 0, // mov r10d, 8
			0x0f, 0x05, // syscall
			0xb8, 13, 0, 0, 0, // mov eax, SYS_rt_sigaction
			0xbf, byte(markSignal), 0, 0, 0, // mov edi, SIGRTMAX
			0x0f, 0x05, // syscall
			0xb8, 34, 0, 0, 0, // wait: mov eax, SYS_pause
			0x0f, 0x05, // call: syscall
			0xeb, 0xf7, // jmp wait
			1, 0, 0, 0, 0, 0, 0, 0, // action: SIG_IGN
			0, 0, 0, 0, 0, 0, 0, 0, // flags
			0, 0, 0, 0, 0, 0, 0, 0, // restorer
			0, 0, 0, 0, 0, 0, 0, 0, // mask
		},
	},
	"arm64": {
		machine: elf.EM_AARCH64, wait: 0x70, call: 0x84,
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
			0x100001e1,                       // adr x1, action
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
			0xd4000001,                       // call: svc #0
			0x17fffffa,                       // b wait
			0xd503201f,                       // nop: aligns what follows
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

// headers is what stands before the code in the file.
type headers struct {
	File    elf.Header64
	Program elf.Prog64
}

var textOffset = uint64(binary.Size(headers{}))

// Image returns the ghost's image for an architecture, in Go's naming: a static
// ELF executable of one segment.
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

// here is the code of the architecture that this program runs on.
var here = codes[runtime.GOARCH]

// callAddr is the address of a system call instruction in every ghost.
func callAddr() uint64 { return imageBase + textOffset + here.call }

// waits reports whether a ghost whose next instruction is at pc has done all
// that its image does before it waits.
func waits(pc uint64) bool { return pc >= imageBase+textOffset+here.wait }

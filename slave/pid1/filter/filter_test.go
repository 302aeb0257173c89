package filter_test

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
)

const (
	allow  = unix.SECCOMP_RET_ALLOW
	notify = unix.SECCOMP_RET_USER_NOTIF
	enosys = unix.SECCOMP_RET_ERRNO | int(unix.ENOSYS)
)

// run runs the filter on a call. The virtual machine is that of packets and
// loads in network order, the kernel's of system calls in the machine's.
func run(t *testing.T, arch, nr uint32) int {
	t.Helper()
	vm, err := bpf.NewVM(filter.Instructions())
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data
	binary.BigEndian.PutUint32(data[0:], nr)
	binary.BigEndian.PutUint32(data[4:], arch)
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryNumberOfEveryInterface(t *testing.T) {
	for _, abi := range filter.ABIs() {
		for nr := range uint32(1024) {
			for _, n := range []uint32{nr, nr | 0x40000000} {
				want := allow
				if _, ok := abi.Calls[n]; ok {
					want = notify
				}
				if got := run(t, abi.Arch, n); got != want {
					t.Errorf("arch %#x nr %#x: got %#x, want %#x", abi.Arch, n, got, want)
				}
			}
		}
	}
}

func TestGetppidIsAskedAboutInEveryInterface(t *testing.T) {
	for _, abi := range filter.ABIs() {
		asked := 0
		for nr, call := range abi.Calls {
			if call == filter.Getppid && run(t, abi.Arch, nr) == notify {
				asked++
			}
			if got, ok := filter.Lookup(abi.Arch, int32(nr)); !ok || got != call {
				t.Errorf("Lookup(%#x, %#x) = %v, %v, want %v", abi.Arch, nr, got, ok, call)
			}
		}
		if asked == 0 {
			t.Errorf("arch %#x: getppid is not asked about", abi.Arch)
		}
	}
}

func TestUnknownInterfaceIsRefused(t *testing.T) {
	if got := run(t, 0x12345678, unix.SYS_GETPPID); got != enosys {
		t.Errorf("got %#x, want %#x", got, enosys)
	}
	if call, ok := filter.Lookup(0x12345678, unix.SYS_GETPPID); ok {
		t.Errorf("Lookup of an unknown interface: got %v", call)
	}
}

// The kernel finds out by itself which numbers are always allowed, but only in
// programs that use nothing but these instructions (kernel/seccomp.c,
// seccomp_is_const_allow).
func TestProgramCanBeEvaluatedBeforehand(t *testing.T) {
	prog, err := filter.Program()
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range prog {
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if in.K != 0 && in.K != 4 {
				t.Errorf("instruction %d loads offset %d: neither number nor arch", i, in.K)
			}
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K:
		default:
			t.Errorf("instruction %d has code %#x", i, in.Code)
		}
	}
}

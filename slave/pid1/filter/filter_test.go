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

	cookie = 0x1122334455667788
)

var home = filter.Home{First: 1 << 20, End: 1<<20 + 32768}

// run runs the filter on a call. The virtual machine is that of packets and loads in network order;
// the kernel's is that of system calls and loads in the machine's order. So each half of an
// argument is put where the kernel has it.
func run(t *testing.T, arch, nr uint32, args ...uint64) int {
	t.Helper()
	vm, err := bpf.NewVM(filter.Instructions(cookie, home))
	if err != nil {
		t.Fatal(err)
	}
	got, err := vm.Run(callData(arch, nr, args...))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// callData returns a struct seccomp_data.
func callData(arch, nr uint32, args ...uint64) []byte {
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], nr)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(arg>>32))
	}
	return data
}

// asked returns arguments with which the supervisor decides every intercepted call.
func asked(call filter.Call) []uint64 {
	switch call {
	case filter.Prctl:
		return []uint64{unix.PR_SET_CHILD_SUBREAPER}
	case filter.Ptrace:
		return []uint64{unix.PTRACE_SEIZE}
	default:
		return []uint64{4711}
	}
}

func TestEveryNumberOfEveryInterface(t *testing.T) {
	for _, abi := range filter.ABIs() {
		for nr := range uint32(1024) {
			for _, n := range []uint32{nr, nr | 0x40000000} {
				want := allow
				call, ok := abi.Calls[n]
				if ok {
					want = notify
				}
				if got := run(t, abi.Arch, n, asked(call)...); got != want {
					t.Errorf("arch %#x nr %#x: got %#x, want %#x", abi.Arch, n, got, want)
				}
				if got, found := filter.Lookup(abi.Arch, int32(n)); found != ok || got != call {
					t.Errorf("Lookup(%#x, %#x) = %v, %v, want %v", abi.Arch, n, got, found, call)
				}
			}
		}
	}
}

func TestEveryCallIsInEveryInterface(t *testing.T) {
	for _, abi := range filter.ABIs() {
		have := map[filter.Call]bool{}
		for _, call := range abi.Calls {
			have[call] = true
		}
		if !abi.Native {
			have[filter.Sigqueue] = have[filter.Sigqueue32]
			have[filter.Tgsigqueue] = have[filter.Tgsigqueue32]
			have[filter.PidfdSignal] = have[filter.PidfdSignal32]
		}
		for call := filter.Getppid; call <= filter.Credentials; call++ {
			is32 := call == filter.Sigqueue32 || call == filter.Tgsigqueue32 || call == filter.PidfdSignal32
			if !have[call] && (!is32 || !abi.Native) {
				t.Errorf("arch %#x: call %d is missing", abi.Arch, call)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	const high = 1 << 32 // above the part that the kernel takes of an int
	for _, c := range []struct {
		name string
		call filter.Call
		args []uint64
		want int
	}{
		{"own group", filter.Getpgid, []uint64{0}, allow},
		{"own group, with rubbish above", filter.Getpgid, []uint64{high}, allow},
		{"another's group", filter.Getpgid, []uint64{1}, notify},
		{"own session", filter.Getsid, []uint64{0}, allow},
		{"another's session", filter.Getsid, []uint64{70001}, notify},
		{"subreaper", filter.Prctl, []uint64{36, 1}, notify},
		{"subreaper, with rubbish above", filter.Prctl, []uint64{high | 36, 1}, notify},
		{"signal at the parent's end", filter.Prctl, []uint64{1, 9}, notify},
		{"name", filter.Prctl, []uint64{15}, allow},
		{"nothing", filter.Prctl, []uint64{0}, allow},
		{"attach", filter.Ptrace, []uint64{16, 4711}, notify},
		{"seize", filter.Ptrace, []uint64{0x4206, 4711}, notify},
		{"be traced", filter.Ptrace, []uint64{0, 0}, allow},
		{"go on to the next call", filter.Ptrace, []uint64{24, 4711}, allow},
		{"signal that prctl(2) sets, as a request", filter.Ptrace, []uint64{1, 4711}, allow},
		{"request of ptrace(2), as an option", filter.Prctl, []uint64{16}, allow},
		{"no signal to the own group", filter.Kill, []uint64{0, 0}, notify},
	} {
		for _, abi := range filter.ABIs() {
			for nr, call := range abi.Calls {
				if call != c.call {
					continue
				}
				if got := run(t, abi.Arch, nr, c.args...); got != c.want {
					t.Errorf("%s: arch %#x nr %#x: got %#x, want %#x", c.name, abi.Arch, nr, got, c.want)
				}
			}
		}
	}
}

// Calls about a process at home are the kernel's own, except for signals that stop.
func TestHome(t *testing.T) {
	const (
		first = 1 << 20
		last  = first + 32767
		term  = uint64(unix.SIGTERM)
		high  = 1 << 32 // above the part that the kernel takes of an int
		minus = 1<<32 - first
	)
	one := func(pid uint64) []uint64 { return []uint64{pid} }
	signal := func(pid, sig uint64) []uint64 { return []uint64{pid, sig} }
	second := func(pid, sig uint64) []uint64 { return []uint64{4711, pid, sig} }
	trace := func(pid, _ uint64) []uint64 { return []uint64{unix.PTRACE_SEIZE, pid} }
	forms := map[filter.Call]func(pid, sig uint64) []uint64{
		filter.Getpgid: func(pid, _ uint64) []uint64 { return one(pid) }, filter.Getsid: func(pid, _ uint64) []uint64 { return one(pid) },
		filter.PidfdOpen: func(pid, _ uint64) []uint64 { return one(pid) },
		filter.Kill:      signal, filter.Tkill: signal, filter.Sigqueue: signal, filter.Sigqueue32: signal,
		filter.Tgkill: second, filter.Tgsigqueue: second, filter.Tgsigqueue32: second, filter.Ptrace: trace,
	}
	for _, abi := range filter.ABIs() {
		for nr, call := range abi.Calls {
			form := forms[call]
			if form == nil {
				continue
			}
			for _, c := range []struct {
				pid  uint64
				want int
			}{
				{first - 1, notify}, {first, allow}, {first | high, allow}, {last, allow}, {last + 1, notify}, {minus, notify}, {70001, notify},
			} {
				if got := run(t, abi.Arch, nr, form(c.pid, term)...); got != c.want {
					t.Errorf("arch %#x nr %#x about %#x: got %#x, want %#x", abi.Arch, nr, c.pid, got, c.want)
				}
			}
			for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
				args, want := form(first, uint64(sig)), notify
				if call == filter.Getpgid || call == filter.Getsid || call == filter.PidfdOpen || call == filter.Ptrace {
					want = allow
				}
				if got := run(t, abi.Arch, nr, args...); got != want {
					t.Errorf("arch %#x nr %#x with %v: got %#x, want %#x", abi.Arch, nr, sig, got, want)
				}
			}
		}
	}
}

// Without a home the supervisor decides everything, even calls that name no process.
func TestNowhereAtHome(t *testing.T) {
	native := filter.ABIs()[0]
	for nr, call := range native.Calls {
		vm, err := bpf.NewVM(filter.Instructions(cookie, filter.Home{}))
		if err != nil {
			t.Fatal(err)
		}
		data := callData(native.Arch, nr, asked(call)...)
		if got, err := vm.Run(data); got != notify || err != nil {
			t.Errorf("nr %d: got %#x, %v, want %#x", nr, got, err, notify)
		}
	}
}

// A call passes with the cookie and with no other number, and only by the interface that init
// itself uses.
func TestCookie(t *testing.T) {
	for _, abi := range filter.ABIs() {
		for nr, call := range abi.Calls {
			args := append(asked(call), 0, 0, 0, 0, 0, 0)[:6]
			for _, c := range []struct {
				sixth uint64
				want  int
			}{
				{cookie, allow},
				{cookie ^ 1, notify},
				{cookie ^ 1<<32, notify},
				{cookie & 0xffffffff, notify},
				{cookie >> 32, notify},
				{0, notify},
			} {
				want := c.want
				if !abi.Native {
					want = notify
				}
				args[5] = c.sixth
				if got := run(t, abi.Arch, nr, args...); got != want {
					t.Errorf("arch %#x nr %#x with %#x: got %#x, want %#x", abi.Arch, nr, c.sixth, got, want)
				}
			}
		}
	}
}

// Without a cookie, the usual rubbish in an unused register is not taken for one.
func TestNoCookie(t *testing.T) {
	vm, err := bpf.NewVM(filter.Instructions(0, home))
	if err != nil {
		t.Fatal(err)
	}
	native := filter.ABIs()[0]
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[4:], native.Arch)
	binary.BigEndian.PutUint32(data[0:], unix.SYS_KILL)
	if got, err := vm.Run(data); got != notify || err != nil {
		t.Errorf("got %#x, %v, want %#x", got, err, notify)
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

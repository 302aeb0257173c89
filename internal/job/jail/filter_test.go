package jail

import (
	"encoding/binary"
	"testing"

	"github.com/moby/sys/capability"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestFilter(t *testing.T) {
	eperm, enosys, allowed := refuse.Val, unknown.Val, allow.Val
	const otherArch = 0x40000003
	for _, tt := range []struct {
		name     string
		arch, nr uint32
		arg0     uint32
		has      []capability.Cap
		want     uint32
	}{
		{"read", auditArch, unix.SYS_READ, 0, nil, allowed},
		{"a call that no kernel has yet", auditArch, 4000, 0, nil, allowed},
		{"mount", auditArch, unix.SYS_MOUNT, 0, nil, eperm},
		{"mount with the capability", auditArch, unix.SYS_MOUNT, 0, []capability.Cap{capability.CAP_SYS_ADMIN}, allowed},
		{"mount with another capability", auditArch, unix.SYS_MOUNT, 0, []capability.Cap{capability.CAP_SYS_TIME}, eperm},
		{"keyctl", auditArch, unix.SYS_KEYCTL, 0, []capability.Cap{capability.CAP_SYS_ADMIN}, eperm},
		{"clone of a thread", auditArch, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, nil, allowed},
		{"clone with a namespace", auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER, nil, eperm},
		{"clone with a namespace and the capability", auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER, []capability.Cap{capability.CAP_SYS_ADMIN}, allowed},
		{"clone3", auditArch, unix.SYS_CLONE3, 0, nil, enosys},
		{"kill of one", auditArch, unix.SYS_KILL, 4711, nil, allowed},
		{"kill of a group", auditArch, unix.SYS_KILL, ^uint32(4711), nil, allowed},
		{"another interface", otherArch, unix.SYS_READ, 0, nil, enosys},
		{"x32", auditArch, x32 | unix.SYS_READ, 0, nil, enosys},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := make([]byte, 64)
			binary.BigEndian.PutUint32(data[offsetNr:], tt.nr) // the VM reads packets, which are big-endian
			binary.BigEndian.PutUint32(data[offsetArch:], tt.arch)
			binary.BigEndian.PutUint32(data[offsetArg0:], tt.arg0)
			vm, err := bpf.NewVM(program(tt.has))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := vm.Run(data); err != nil || uint32(got) != tt.want {
				t.Errorf("got %#x, %v, want %#x", got, err, tt.want)
			}
		})
	}
}

// TestOwnLimits checks that prlimit(2) on other processes can only read limits.
func TestOwnLimits(t *testing.T) {
	for _, tt := range []struct {
		name string
		pid  uint32
		to   uint64 // the new limit
		has  []capability.Cap
		want uint32
	}{
		{"its own", 0, 1 << 40, nil, allow.Val},
		{"another's, asked for", 5, 0, nil, allow.Val},
		{"another's", 5, 1 << 40, nil, refuse.Val},
		{"another's, below 4 GiB", 5, 4096, nil, refuse.Val},
		{"another's with the capability", 5, 4096, []capability.Cap{capability.CAP_SYS_RESOURCE}, allow.Val},
	} {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[offsetNr:], unix.SYS_PRLIMIT64)
		binary.BigEndian.PutUint32(data[offsetArch:], auditArch)
		binary.BigEndian.PutUint32(data[offsetArg0:], tt.pid)
		binary.BigEndian.PutUint32(data[offsetArg2:], uint32(tt.to))
		binary.BigEndian.PutUint32(data[offsetArg2+4:], uint32(tt.to>>32))
		vm, err := bpf.NewVM(program(tt.has))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := vm.Run(data); err != nil || uint32(got) != tt.want {
			t.Errorf("%s: got %#x, %v, want %#x", tt.name, got, err, tt.want)
		}
	}
}

func TestOwnGroups(t *testing.T) {
	got := ownGroups("9:name=systemd:/\n8:cpu,cpuacct:/c\n4:memory:/a/b:c\n0::/u\nnonsense\n")
	for name, want := range map[string]string{"name=systemd": "/", "cpu": "/c", "cpuacct": "/c", "memory": "/a/b:c", "": "/u"} {
		if got[name] != want {
			t.Errorf("%q: got %q, want %q", name, got[name], want)
		}
	}
}

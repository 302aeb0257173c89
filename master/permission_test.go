package master

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func TestMayUse(t *testing.T) {
	n := func(mode uint32) *node { return &node{Mode: mode, UID: 1000, GID: 500} }
	for _, test := range []struct {
		name string
		who  caller
		mode []uint32 // with which it may
	}{
		{"root", caller{}, []uint32{0, 0o100, 0o010, 0o001, 0o111}},
		{"owner", caller{uid: 1000, gid: 1000}, []uint32{0o100, 0o111}},
		{"owner in the group", caller{uid: 1000, gid: 500}, []uint32{0o100, 0o111}},
		{"group", caller{uid: 1001, gid: 500}, []uint32{0o010, 0o111}},
		{"supplementary group", caller{uid: 1001, gid: 1001, groups: []uint32{1, 500}}, []uint32{0o010, 0o111}},
		{"other", caller{uid: 1001, gid: 1001, groups: []uint32{1}}, []uint32{0o001, 0o111}},
	} {
		for _, mode := range []uint32{0, 0o100, 0o010, 0o001, 0o111} {
			if got, want := test.who.mayUse(n(mode)), slices.Contains(test.mode, mode); got != want {
				t.Errorf("%s with mode %#o: got %v, want %v", test.name, mode, got, want)
			}
		}
	}
}

func TestPeer(t *testing.T) {
	master, _ := socketPair(t)
	who, err := peerOf(master)
	if err != nil {
		t.Fatal(err)
	}
	if who.pid != wire.PID(os.Getpid()) || who.uid != uint32(os.Geteuid()) || who.gid != uint32(os.Getegid()) {
		t.Errorf("got %+v", who)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	checkGroups(t, who.groups, groups)
	master.Close()
	if _, err := peerOf(master); err == nil || !strings.HasPrefix(err.Error(), "credentials of a client: ") {
		t.Errorf("of a closed connection: got %v", err)
	}
}

func checkGroups(t *testing.T, got []uint32, want []int) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(g uint32, w int) bool { return g == uint32(w) }) {
		t.Errorf("groups: got %v, want %v", got, want)
	}
}

// TestPeerWithManyGroups has a socket made by a thread with more groups than
// the first attempt has room for. The system call changes the calling thread
// alone (setgroups(2)), and the thread ends with its goroutine, which does not
// unlock it.
func TestPeerWithManyGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to have many groups")
	}
	for _, count := range []int{0, 64, 65, 5000} {
		groups := make([]uint32, count+1)
		var want []int
		for i := range count {
			groups[i] = uint32(10_000 + i)
			want = append(want, 10_000+i)
		}
		errno := make(chan syscall.Errno)
		go func() {
			runtime.LockOSThread()
			_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(count), uintptr(unsafe.Pointer(&groups[0])), 0)
			if e == 0 {
				master, _ := socketPair(t)
				who, err := peerOf(master)
				if err != nil {
					t.Error(err)
				}
				checkGroups(t, who.groups, want)
			}
			errno <- e
		}()
		if e := <-errno; e != 0 {
			t.Fatal(e)
		}
	}
}

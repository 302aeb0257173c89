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

func TestPeer(t *testing.T) {
	master, _ := socketPair(t)
	who, err := peerOf(master)
	if err != nil {
		t.Fatal(err)
	}
	if who.PID != wire.PID(os.Getpid()) || who.UID != uint32(os.Geteuid()) || who.GID != uint32(os.Getegid()) {
		t.Errorf("got %+v", who)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	checkGroups(t, who.Groups, groups)
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

// TestPeerWithManyGroups has a socket made by a thread with more groups than the first attempt has
// room for. The system call changes only the calling thread (setgroups(2)), which ends with its
// goroutine, because that does not unlock it.
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
				checkGroups(t, who.Groups, want)
			}
			errno <- e
		}()
		if e := <-errno; e != 0 {
			t.Fatal(e)
		}
	}
}

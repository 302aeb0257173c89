package supervise

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestUninterrupted(t *testing.T) {
	for _, c := range []struct {
		errnos []unix.Errno
		want   unix.Errno
	}{
		{[]unix.Errno{0}, 0},
		{[]unix.Errno{unix.EINTR, unix.EINTR, 0}, 0},
		{[]unix.Errno{unix.EINTR, unix.ENOENT}, unix.ENOENT},
		{[]unix.Errno{unix.EINPROGRESS}, unix.EINPROGRESS},
	} {
		made := 0
		got := uninterrupted(func() unix.Errno { made++; return c.errnos[made-1] })
		if got != c.want || made != len(c.errnos) {
			t.Errorf("%v: got %v after %d requests, want %v", c.errnos, got, made, c.want)
		}
	}
}

// asking makes calls of getppid(2), and no others, that notify a listener.
type asking struct {
	listener int
	asked    chan struct{} // one for each call to be made
	answers  chan uintptr
}

// newAsking starts a thread under such a filter, which ends with the test.
func newAsking(t *testing.T) *asking {
	t.Helper()
	a := &asking{asked: make(chan struct{}), answers: make(chan uintptr, 1)}
	ready, ended := make(chan unix.Errno), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()                                     // and never unlocked: the thread ends with its filter
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) // so that it is slow
		var errno unix.Errno
		a.listener, errno = filterOwn(unix.SYS_GETPPID)
		ready <- errno
		for range a.asked {
			got, _, _ := unix.Syscall(unix.SYS_GETPPID, 0, 0, 0)
			a.answers <- got
		}
	}()
	if errno := <-ready; errno != 0 {
		t.Fatalf("filter: %v", errno)
	}
	t.Cleanup(func() {
		close(a.asked)
		unix.Close(a.listener) // a waiting caller gets ENOSYS
		<-ended
	})
	return a
}

// filterOwn puts the calling thread under a filter that intercepts one call.
func filterOwn(nr uint32) (listener int, errno unix.Errno) {
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fprog)))
	return int(fd), errno
}

// next has a call made and returns it.
func (a *asking) next(t *testing.T) notif {
	t.Helper()
	a.asked <- struct{}{}
	return a.received(t)
}

// received returns a call that was made.
func (a *asking) received(t *testing.T) notif {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(a.listener), Events: unix.POLLIN}}
	for begin := time.Now(); ; {
		n, err := unix.Poll(fds, 100)
		if n > 0 {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("no notification: %v", err)
		}
	}
	var n notif
	if errno := receive(a.listener, &n); errno != 0 {
		t.Fatalf("receive: %v", errno)
	}
	return n
}

// signalled sends this thread one SIGURG after the other until the test ends, as Go's runtime does
// to preempt it.
func signalled(t *testing.T) {
	t.Helper()
	pid, tid := unix.Getpid(), unix.Gettid()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				_ = unix.Tgkill(pid, tid, unix.SIGURG)
				runtime.Gosched()
			}
		}
	}()
	t.Cleanup(func() { close(over); <-ended })
}

// Whatever signals come, the descriptor that a caller gets is one that it has.
func TestDescriptorIsGivenUnderSignals(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := newAsking(t)
	file, err := os.CreateTemp(t.TempDir(), "given")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var want unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &want); err != nil {
		t.Fatal(err)
	}
	signalled(t)
	for range 300 {
		n := a.next(t)
		errno := answerFile(a.listener, n.ID, int(file.Fd()))
		for errno == unix.ENOENT { // Go's runtime has interrupted the call, which the kernel makes again
			n = a.received(t)
			errno = answerFile(a.listener, n.ID, int(file.Fd()))
		}
		if errno != 0 {
			t.Fatalf("answer: %v", errno)
		}
		fd := int(<-a.answers)
		var got unix.Stat_t
		if err := unix.Fstat(fd, &got); err != nil || got.Ino != want.Ino || got.Dev != want.Dev {
			t.Fatalf("descriptor %d is inode %d, %v; want %d", fd, got.Ino, err, want.Ino)
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Fatalf("descriptor %d has flags %#x, %v", fd, flags, err)
		}
		unix.Close(fd)
	}
}

package ghost

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// strange are programs of processes that clients name as their ghosts.
var strange = map[string]func() int{"vfork": vfork, "filter": filtered, "slow": slow}

// strangeProcess starts one of them as a child of the test.
func strangeProcess(t testing.TB, name string, uid uint32) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"GHOST_TEST_STRANGE=" + name, "GHOST_TEST_IMAGE=" + imageOf(t)}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Credential: &unixCredential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd
}

// vfork makes a child that shares its memory, and waits for it in the kernel, which only SIGKILL
// ends.
func vfork() int {
	flags := uintptr(unix.CLONE_VM | unix.CLONE_VFORK | int(unix.SIGCHLD))
	if pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0); errno != 0 || pid != 0 {
		return 1
	}
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // until a signal; there may be several
	}
}

func init() {
	if os.Getenv("GHOST_TEST_STRANGE") == "slow" {
		runtime.LockOSThread() // the first thread, in which TestMain goes on
	}
}

// slow executes the image after a time in which it still runs its parent's. Its first thread does, as in the child
// of a vfork(2): if it were another one, the process would be a zombie until that has taken the first one's place.
func slow() int {
	time.Sleep(50 * time.Millisecond)
	fmt.Fprintln(os.Stderr, unix.Exec(os.Getenv("GHOST_TEST_IMAGE"), []string{"slow"}, nil))
	return 1
}

// filtered executes the image with a filter that answers kill(2) itself.
func filtered() int {
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_KILL},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		fmt.Fprintln(os.Stderr, errno)
		return 1
	}
	fmt.Fprintln(os.Stderr, unix.Exec(os.Getenv("GHOST_TEST_IMAGE"), []string{"filtered"}, nil))
	return 1
}

// TestAdoptVforkParents has a client name more processes that do not stop than the keeper has
// threads: they are refused, and others are not delayed.
func TestAdoptVforkParents(t *testing.T) {
	f := newFixture(t)
	own := wire.PID(os.Getpid())
	for range 4 {
		pid := wire.PID(strangeProcess(t, "vfork", nobody).Process.Pid)
		eventually(t, "it waits for its child", func() bool { return statField(t, pid, 0) == "D" })
		f.number++
		if err := wire.Write(f.client, f.number, &wire.GhostAdopt{PID: pid, Parent: own, UID: nobody}); err != nil {
			t.Fatal(err)
		}
	}
	pid := f.ghost(t, nobody, "g")
	for range 4 {
		e := f.take(t, "answer", func(e event) bool { _, ok := e.msg.(*wire.GhostDone); return ok })
		// EAGAIN: on a busy machine they were not checked twice in the time for a request.
		if errno := unix.Errno(e.msg.(*wire.GhostDone).Errno); errno != unix.EINVAL && errno != unix.EAGAIN {
			t.Errorf("got %v, want %v", errno, unix.EINVAL)
		}
	}
	f.end(t, pid, 0)
}

// TestAdoptBeforeExec adopts a ghost that has not executed the image yet: vfork(2) returns before
// that.
func TestAdoptBeforeExec(t *testing.T) {
	f := newFixture(t)
	pid := wire.PID(strangeProcess(t, "slow", 0).Process.Pid)
	eventually(t, "it is adopted", func() bool {
		begin := time.Now()
		errno := f.ask(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid())})
		if waited := time.Since(begin); errno != 0 && waited < executeTime { // else the machine is busy
			t.Fatalf("refused after %v: %v", waited, errno)
		}
		return errno == 0
	})
	f.end(t, pid, 0)
}

// TestAdoptFiltered has a client name a ghost with a system call filter, which would keep it from
// saying that it is done.
func TestAdoptFiltered(t *testing.T) {
	f := newFixture(t)
	pid := wire.PID(strangeProcess(t, "filter", 0).Process.Pid)
	eventually(t, "it executes the image", func() bool { return statName(t, pid) == "filtered" })
	if errno := f.ask(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid())}); errno != unix.EPERM {
		t.Errorf("got %v, want %v", errno, unix.EPERM)
	}
	untraced(t, pid)
}

// TestAdoptOtherUsers has a client name a ghost of another user namespace, whose capabilities are
// valid only there.
func TestAdoptOtherUsers(t *testing.T) {
	f := newFixture(t)
	p, err := os.StartProcess(imageOf(t), []string{"elsewhere"}, &os.ProcAttr{Env: []string{}, Sys: &unix.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}},
		Credential:  &unixCredential{NoSetGroups: true}, // user nobody, who is root there
	}})
	if err != nil {
		t.Fatal(err)
	}
	pid := wire.PID(p.Pid)
	eventually(t, "it comes up", func() bool { return statName(t, pid) == "elsewhere" })
	if errno := f.ask(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: nobody}); errno != unix.EPERM {
		t.Errorf("got %v, want %v", errno, unix.EPERM)
	}
	untraced(t, pid)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, pid, 0)
}

func statName(t testing.TB, pid wire.PID) string {
	t.Helper()
	st, err := readStatus(pid)
	if err != nil {
		t.Fatal(err)
	}
	return st.name
}

func untraced(t testing.TB, pid wire.PID) {
	t.Helper()
	if st, err := readStatus(pid); err != nil || st.tracer != 0 {
		t.Errorf("process %d is traced by %d, %v", pid, st.tracer, err)
	}
}

// TestAdoptLiar has a client name another user's ghost just before its owner does.
func TestAdoptLiar(t *testing.T) {
	f := newFixture(t)
	pid := start(t, nobody, "g")
	own := wire.PID(os.Getpid())
	f.tell(t, &wire.GhostAdopt{PID: pid, Parent: own + 1, UID: nobody})
	f.must(t, &wire.GhostAdopt{PID: pid, Parent: own, UID: nobody})
	f.must(t, &wire.GhostSync{PID: pid})
	f.end(t, pid, 0)
}

// TestStranger has a shard seize a process that is not a ghost and that forks: both keep all their
// signals, and have no tracer in the end.
func TestStranger(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	cmd := exec.Command("/bin/sh", "-c", `trap "echo parent; exit 0" USR1
read go
sh -c 'trap "echo child; exit 0" USR1; echo $$; while :; do sleep 0.01; done' &
while :; do wait; done`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }()
	pid := wire.PID(cmd.Process.Pid)
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, traceOptions); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it forks", func() bool { return statField(t, pid, 0) == "t" })
	s.letGo(pid)
	var child wire.PID
	eventually(t, "both are let go of", func() bool {
		s.poll(t)
		text, err := readProc(pid, fmt.Sprintf("task/%d/children", pid))
		if n, _ := fmt.Sscan(string(text), &child); err != nil || n != 1 {
			return false
		}
		parent, err := readStatus(pid)
		if err != nil {
			t.Fatal(err)
		}
		st, err := readStatus(child)
		return err == nil && parent.tracer == 0 && st.tracer == 0
	})
	var up wire.PID
	if _, err := fmt.Fscan(out, &up); err != nil || up != child {
		t.Fatalf("%d says it is up, %v, want %d", up, err, child)
	}
	for _, to := range []wire.PID{child, pid} {
		if err := unix.Kill(int(to), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(text)); len(got) != 2 {
		t.Errorf("they say %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

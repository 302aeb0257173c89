package procevents_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/test/limit"
	"bproc/wire"
)

func init() { parts["delay"] = delay }

// delay holds up any reader of the map of this process's memory. One thread, with the map locked,
// reads a page that its file system does not provide. Another waits for the lock to change the map,
// and until then no other thread gets the lock.
func delay() {
	const size = 4096
	runtime.GOMAXPROCS(4) // a raw call keeps its processor, and a machine may have only one
	file, err := os.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	page, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ, unix.MAP_PRIVATE, file.Fd(), 0)
	memory, err := unix.Open("/proc/self/mem", unix.O_RDONLY, 0)
	if err != nil || errno != 0 {
		panic(fmt.Sprint(err, errno))
	}
	uid, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = unix.Setresuid(uid, 0, 0)
	}
	if err != nil {
		panic(err)
	}
	// From here on the runtime must not need memory: raw calls start no threads.
	told := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		var b [1]byte
		fmt.Println(unix.Gettid())
		close(told)
		_, _, _ = unix.RawSyscall(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&b)), 1) // until the page is requested
		_, _, _ = unix.RawSyscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
	}()
	<-told
	var b [1]byte
	_, _, _ = unix.RawSyscall6(unix.SYS_PREAD64, uintptr(memory), uintptr(unsafe.Pointer(&b)), 1, page, 0, 0) // never returns
}

// unread is a file whose pages are not provided before release is closed.
type unread struct {
	fs.Inode
	asked   chan struct{}
	release chan struct{}
}

func (u *unread) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o444, 4096
	return 0
}

func (u *unread) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (u *unread) Read(context.Context, fs.FileHandle, []byte, int64) (fuse.ReadResult, syscall.Errno) {
	u.asked <- struct{}{}
	<-u.release
	return nil, syscall.EIO
}

// mount mounts the file, and returns its path.
func (u *unread) mount(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := new(fs.Inode)
	server, err := fs.Mount(dir, root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "unread"},
		OnAdd: func(ctx context.Context) {
			root.AddChild("file", root.NewPersistentInode(ctx, u, fs.StableAttr{Mode: unix.S_IFREG}), true)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "file")
}

// startDelay starts a process whose command line cannot be read. Its effective user is root.
func startDelay(t *testing.T, uid int) wire.PID {
	t.Helper()
	u := &unread{asked: make(chan struct{}, 100), release: make(chan struct{})}
	path := u.mount(t)
	cmd := exec.Command(os.Args[0], "delay", path, strconv.Itoa(uid))
	// If the tests are killed, other readers of processes must not be held up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		close(u.release)
		_ = cmd.Wait() // killed
	})
	tid := bufio.NewScanner(out)
	if !tid.Scan() {
		t.Fatal("it says nothing")
	}
	select {
	case <-u.asked:
	case <-time.After(limit.Scaled(20 * time.Second)):
		t.Fatal("it does not read the page")
	}
	fmt.Fprintln(in)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", cmd.Process.Pid, tid.Text()))
		if strings.Contains(string(stat), ") D ") {
			return wire.PID(cmd.Process.Pid)
		}
		if time.Since(begin) > limit.Scaled(20*time.Second) {
			t.Fatalf("the thread that changes the map: %s, %v", stat, err)
		}
	}
}

// TestCommandLineIsHeldUp reads the images of processes, one of which holds up readers of its
// command line.
func TestCommandLineIsHeldUp(t *testing.T) {
	runtime.LockOSThread() // the children get a signal when this thread dies
	defer runtime.UnlockOSThread()
	slow := startDelay(t, 0)
	const script = "echo; read line"
	other := exec.Command("/bin/sh", "-c", script)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = other.Wait() // its read fails
	})
	if !bufio.NewScanner(out).Scan() { // it executes the shell
		t.Fatal("the shell says nothing")
	}
	images := procevents.NewImages("/proc")
	for range 3 {
		result := make(chan procevents.Image, 1)
		go func() {
			im, _ := images.Image(slow)
			result <- im
		}()
		select {
		case im := <-result:
			if im.Argv != nil || im.Comm == "" {
				t.Errorf("the image of a process that is late is %+v, want its name only", im)
			}
		case <-time.After(limit.Scaled(20 * time.Second)):
			t.Fatal("a process holds up who reads its command line")
		}
		if im, ok := images.Image(wire.PID(other.Process.Pid)); !ok || len(im.Argv) != 3 || im.Argv[2] != script {
			t.Errorf("the image of another user's process is %+v, %v", im, ok)
		}
	}
	if _, ok := images.Image(1 << 22); ok {
		t.Error("a process that is not there has an image")
	}
}

// TestHeldUpByUser has a program with the set-user-ID bit hold up readers: root's processes are read
// all the same, and other processes of the user that runs it are not.
func TestHeldUpByUser(t *testing.T) {
	runtime.LockOSThread() // the child gets a signal when this thread dies
	defer runtime.UnlockOSThread()
	const uid = 12345
	slow := startDelay(t, uid)
	other := exec.Command("/bin/sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: unix.SIGKILL}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait() // killed
	})
	images := procevents.NewImages("/proc")
	if im, ok := images.Image(slow); !ok || !im.Slow {
		t.Errorf("the image of a process that is late is %+v, %v, want its name only", im, ok)
	}
	if im, ok := images.Image(wire.PID(os.Getpid())); !ok || im.Slow {
		t.Errorf("the image of root's process is %+v, %v, want all of it", im, ok)
	}
	if im, ok := images.Image(wire.PID(other.Process.Pid)); !ok || !im.Slow {
		t.Errorf("the image of the user's other process is %+v, %v, want its name only", im, ok)
	}
}

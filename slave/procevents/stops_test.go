package procevents_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
)

// Descriptors of a victim: it writes to the first that it is ready, and reads from the second that
// it may go on.
const (
	readyFD   = 3
	releaseFD = 4
)

// victims are processes that can be stopped.
var victims = map[string]func(){
	"victim-single":  func() { say(readyFD); hear(releaseFD) },
	"victim-threads": victimThreads,
	"victim-vfork":   victimInVfork,
}

func say(fd int) {
	if _, err := unix.Write(fd, []byte{1}); err != nil {
		panic(err)
	}
}

// hear reads a byte.
func hear(fd int) {
	for {
		if _, err := unix.Read(fd, make([]byte, 1)); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// victimThreads has twenty sleeping threads.
func victimThreads() {
	var started sync.WaitGroup
	for range 20 {
		started.Add(1)
		go onOtherThread(func() {
			started.Done()
			hear(releaseFD)
		})
	}
	started.Wait()
	say(readyFD)
	select {}
}

// victimInVfork has a thread that waits in vfork(2) for a child. The child has memory of its own,
// so that it can be a Go program.
func victimInVfork() {
	var b [1]byte
	at := uintptr(unsafe.Pointer(&b))
	pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, readyFD, at, 1)
		_, _, _ = unix.RawSyscall(unix.SYS_READ, releaseFD, at, 1)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	select {}
}

// stopVictim starts a victim, stops it and lets it go on, prints what wait4 returns, and ends it.
// Arguments: the victim; what to do with SIGCHLD; a FIFO that has a byte when to go on after a
// print.
func stopVictim() {
	victim, sigchld := os.Args[2], os.Args[3]
	proceed, err := unix.Open(os.Args[4], unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	ready, told := pipe()
	held, release := pipe()
	ignoreStops(sigchld)
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"x", victim}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2, uintptr(told), uintptr(held)},
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // so that its group is not orphaned, and SIGTSTP stops it
	})
	if err != nil {
		panic(err)
	}
	hear(ready)
	signal(pid, unix.SIGTSTP)
	if victim == "victim-vfork" {
		say(release) // it cannot stop before that
	}
	fmt.Println(int(await(pid, unix.WUNTRACED).StopSignal()))
	hear(proceed)
	signal(pid, unix.SIGCONT)
	if !await(pid, unix.WCONTINUED).Continued() {
		panic("not continued")
	}
	fmt.Println(int(unix.SIGCONT))
	hear(proceed)
	signal(pid, unix.SIGKILL)
	await(pid, 0)
}

func pipe() (r, w int) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		panic(err)
	}
	return p[0], p[1]
}

func signal(pid int, sig unix.Signal) {
	if err := unix.Kill(pid, sig); err != nil {
		panic(err)
	}
}

func await(pid, options int) unix.WaitStatus {
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, options, nil); !errors.Is(err, unix.EINTR) {
			if err != nil {
				panic(err)
			}
			return status
		}
	}
}

// ignoreStops changes what SIGCHLD does (sigaction(2)).
func ignoreStops(how string) {
	const saNocldstop = 1
	var action struct{ handler, flags, restorer, mask uintptr }
	switch how {
	case "nocldstop":
		action.flags = saNocldstop
	case "default":
	default:
		return
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	if errno != 0 {
		panic(errno)
	}
}

// stops collects what a source notes of stops.
type stops struct {
	source *procevents.Source
	got    []string
}

func (s *stops) drain() []string {
	s.source.Drain(func(r procevents.Record) {
		switch r.Kind {
		case procevents.Stopped:
			s.got = append(s.got, fmt.Sprint("stopped by ", r.Status))
		case procevents.Continued:
			s.got = append(s.got, "continued")
		default: // births and ends are for other tests
		}
	})
	s.got = slices.Compact(s.got)
	return s.got
}

// TestStops stops victims of all kinds. When the parent reports that its child has stopped or goes
// on, that has been noted. If the parent wants no SIGCHLD for stops, it is noted soon after.
func TestStops(t *testing.T) {
	s := newSpace(t)
	source := s.open(procevents.Config{})
	path := filepath.Join(t.TempDir(), "go")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	for victim := range victims {
		for _, sigchld := range []string{"handled", "default", "nocldstop"} {
			t.Run(victim+" "+sigchld, func(t *testing.T) {
				seen := stops{source: source}
				s.start(strings.Join([]string{"exec $SELF stop-victim", victim, sigchld, path}, " "))
				for _, want := range [][]string{{"stopped by 20"}, {"stopped by 20", "continued"}} {
					said := s.number()
					deadline := time.Now().Add(10 * time.Second)
					for sigchld == "nocldstop" && len(seen.drain()) == 0 && time.Now().Before(deadline) {
						runtime.Gosched()
					}
					if got := seen.drain(); !slices.Equal(got, want) {
						t.Fatalf("after the parent has said %d: got %q, want %q", said, got, want)
					}
					if _, err := fifo.Write([]byte{1}); err != nil {
						t.Fatal(err)
					}
				}
				s.wait()
				if got, want := seen.drain(), []string{"stopped by 20", "continued"}; !slices.Equal(got, want) {
					t.Errorf("at the end: got %q, want %q", got, want)
				}
			})
		}
	}
}

// Probe runs inside a process space for the tests of package space.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	switch os.Args[1] {
	case "ppid":
		fmt.Println(os.Getppid())
	case "ppid-thread": // from a thread that is not the first
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			go func() { // while this one holds a thread
				runtime.LockOSThread()
				if unix.Gettid() == os.Getpid() {
					panic("first thread")
				}
				done <- os.Getppid()
			}()
			select {}
		}()
		fmt.Println(<-done)
	case "siginfo":
		blockAndExec()
	case "siginfo-wait":
		siginfo()
	case "pidfd-signal":
		dir, err := unix.Open(os.Args[2], unix.O_DIRECTORY, 0)
		if err == nil {
			err = unix.PidfdSendSignal(dir, unix.Signal(number(3)), nil, 0)
		}
		outcome(0, err)
	case "call":
		outcome(call())
	case "crowd": // TIMES, and as for "call": as many threads call at once
		n := number(2)
		os.Args = os.Args[1:]
		for range n {
			go func() {
				if _, err := call(); err == unix.EAGAIN {
					fmt.Println("full")
				}
			}()
		}
		select {}
	case "cost": // TIMES, and as for "call": the cost of a call, in nanoseconds
		n := number(2)
		os.Args = os.Args[1:]
		start := time.Now()
		for range n {
			if _, err := call(); err != unix.Errno(0) {
				panic(err)
			}
		}
		fmt.Println(time.Since(start).Nanoseconds() / int64(n))
	case "sigqueue": // PID SIGNAL VALUE
		var info [128]byte
		binary.NativeEndian.PutUint32(info[8:], ^uint32(0)) // SI_QUEUE
		at := 16 + 8                                        // si_pid and si_uid are before it
		if unsafe.Sizeof(uintptr(0)) == 4 {
			at = 12 + 8
		}
		binary.NativeEndian.PutUint32(info[at:], uint32(number(4)))
		_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(number(2)), uintptr(number(3)), uintptr(unsafe.Pointer(&info)))
		outcome(0, errno)
	case "threads": // one number for each
		for range 3 {
			pid, _, errno := unix.RawSyscall(unix.SYS_FORK, 0, 0, 0)
			if errno == 0 && pid == 0 {
				unix.Exit(0)
			}
			fmt.Println(pid)
		}
	}
}

// calls are the system calls that "call" makes, by name.
var calls = map[string]uintptr{
	"getppid": unix.SYS_GETPPID, "getpgid": unix.SYS_GETPGID, "getsid": unix.SYS_GETSID,
	"setpgid": unix.SYS_SETPGID, "setsid": unix.SYS_SETSID, "setresuid": unix.SYS_SETRESUID,
	"kill": unix.SYS_KILL, "tkill": unix.SYS_TKILL, "tgkill": unix.SYS_TGKILL,
	"pidfd_open": unix.SYS_PIDFD_OPEN, "prctl": unix.SYS_PRCTL,
}

// call makes the system call of the arguments.
func call() (int, error) {
	var args [3]uintptr
	for i := range min(len(os.Args)-3, len(args)) {
		args[i] = uintptr(number(3 + i))
	}
	r, _, errno := unix.Syscall(calls[os.Args[2]], args[0], args[1], args[2])
	return int(r), errno
}

func number(arg int) int {
	n, err := strconv.Atoi(os.Args[arg])
	if err != nil {
		panic(err)
	}
	return n
}

func outcome(r int, err error) {
	var errno unix.Errno
	if errors.As(err, &errno) && errno != 0 {
		fmt.Println(unix.ErrnoName(errno))
		return
	}
	fmt.Println(r)
}

const signals = uint64(1)<<(unix.SIGUSR1-1) | uint64(1)<<(40-1)

// blockAndExec blocks the signals for a program that waits for them: all its
// threads inherit the mask.
func blockAndExec() {
	runtime.LockOSThread()
	set := signals
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
	panic(unix.Exec("/proc/self/exe", []string{"probe", "siginfo-wait"}, nil))
}

func siginfo() {
	fmt.Println("ready")
	for range 2 {
		set := signals
		var info [128]byte
		for errno := unix.EINTR; errno == unix.EINTR; { // the runtime's own signals interrupt it
			_, _, errno = unix.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&info)), 0, 8, 0, 0)
		}
		word := func(at int) int32 { return int32(binary.NativeEndian.Uint32(info[at:])) }
		fmt.Println(word(0), word(8), word(16), word(20), int64(binary.NativeEndian.Uint64(info[24:])))
	}
}

// Probe is run inside a process space by the tests of package space.
package main

import (
	"encoding/binary"
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
	case "ppid-cost":
		n, _ := strconv.Atoi(os.Args[2])
		start := time.Now()
		for range n {
			os.Getppid()
		}
		fmt.Println(time.Since(start).Nanoseconds() / int64(n))
	case "siginfo":
		blockAndExec()
	case "siginfo-wait":
		siginfo()
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
		unix.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&info)), 0, 8, 0, 0)
		word := func(at int) int32 { return int32(binary.NativeEndian.Uint32(info[at:])) }
		fmt.Println(word(0), word(8), word(16), word(20), int64(binary.NativeEndian.Uint64(info[24:])))
	}
}

// Lateinit executes the bpinit beside it, in a second thread after the first thread has ended.
// Meanwhile /proc/PID/root cannot be opened, as in the last moment of every execve(2) of a thread
// that is not the first.
package main

import (
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pause is long enough to look at the first thread after it has ended.
const pause = 300 * time.Millisecond

func init() { runtime.LockOSThread() } // main stays on the first thread

func main() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	init := filepath.Join(filepath.Dir(self), "bpinit")
	go func() {
		runtime.LockOSThread()
		time.Sleep(pause)
		panic(unix.Exec(init, os.Args, os.Environ()))
	}()
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // a raw one would keep the only processor of Go
}

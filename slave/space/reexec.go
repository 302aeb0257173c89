package space

import (
	"os"
	"runtime"

	"github.com/opencontainers/runc/libcontainer"
)

// Reexec must be the first call in main of a program with this package (in a test, in TestMain). In
// the process that libcontainer starts to set up a space it becomes bpinit and does not return; in
// any other it does nothing.
func Reexec() {
	if len(os.Args) < 2 || os.Args[1] != "init" || os.Getenv("_LIBCONTAINER_INITPIPE") == "" {
		return
	}
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	libcontainer.Init()
}

package cluster

import (
	"os"
	"runtime"
)

// init makes this binary what its name says when it runs itself again. That is
// done here, before main, so that every program that imports this package can
// start clusters without any help.
func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case machineArg0:
		// The namespaces that the test process enters are those of PID 1's main thread.
		runtime.LockOSThread()
		os.Exit(machineMain())
	case janitorArg0:
		os.Exit(janitorMain())
	}
}

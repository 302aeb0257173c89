package cluster

import (
	"os"
	"runtime"
)

// init runs the role in this binary's name when it runs itself again. It does so before main, so
// that every program that imports this package can start clusters.
func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case machineArg0:
		// The test process enters the namespaces of PID 1's main thread.
		runtime.LockOSThread()
		os.Exit(machineMain())
	case janitorArg0:
		os.Exit(janitorMain())
	}
}

package slave

import (
	"bproc/slave/hardware"
	"bproc/slave/space"
)

// Reexec is the first thing that a program with this package does in main. In
// the process that becomes the process space, and in the one that reads what the machine is, it
// does not return; in any other it does nothing.
func Reexec() {
	space.Reexec()
	hardware.Reexec()
}

package slave

import (
	"bproc/slave/hardware"
	"bproc/slave/space"
)

// Reexec must be the first call in main of a program with this package. It does not return in the
// process that becomes the process space, nor in the one that reads what the machine is. In any
// other process it does nothing.
func Reexec() {
	space.Reexec()
	hardware.Reexec()
}

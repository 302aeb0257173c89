package slave

import "bproc/slave/space"

// Reexec is the first thing that a program with this package does in main. In
// the process that becomes the process space it does not return; in any other
// it does nothing.
func Reexec() { space.Reexec() }

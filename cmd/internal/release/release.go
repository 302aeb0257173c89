package release

import "runtime/debug"

// stamped is the version of the package (deb, rpm); the linker sets it.
var stamped string

// Version returns the version of the package that contains the command, or of the module from which
// it was built.
func Version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

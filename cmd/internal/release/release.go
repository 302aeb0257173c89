package release

import "runtime/debug"

// stamped is the version that a package has; set by the linker.
var stamped string

// Version returns the version of the package that the command is of, or of the module that
// it was built from.
func Version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

package release

import "runtime/debug"

// Version returns the version of the module that the command was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

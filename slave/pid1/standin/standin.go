package standin

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// Name is the name of a stand-in in /proc/PID/comm.
const Name = "bproc-standin"

// InitName is the name of the init of a space there.
const InitName = "bproc-init"

// IsSpace reports whether a directory is the /proc of a space.
func IsSpace(proc string) bool {
	comm, err := os.ReadFile(filepath.Join(proc, "1/comm"))
	return err == nil && string(comm) == InitName+"\n"
}

// Is reports whether a process is a stand-in. proc is the directory of the space's /proc. Any
// process can take the name, but not bpinit's executable: a process has that only if it shares
// bpinit's memory. A zombie has none, and is not recognised.
func Is(proc string, pid wire.PID) bool {
	if pid <= 1 || pid >= pidmap.Node {
		return false
	}
	comm, err := os.ReadFile(filepath.Join(proc, pid.String(), "comm"))
	if err != nil || string(comm) != Name+"\n" {
		return false
	}
	var init, exe unix.Stat_t
	if unix.Stat(filepath.Join(proc, "1/exe"), &init) != nil || unix.Stat(filepath.Join(proc, pid.String(), "exe"), &exe) != nil {
		return false
	}
	return exe.Dev == init.Dev && exe.Ino == init.Ino
}

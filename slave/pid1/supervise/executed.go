package supervise

import (
	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

func (v procView) executed(pid wire.PID) bool {
	fd, err := unix.Openat(v.proc, pid.String()+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var stat [1024]byte
	n, err := unix.Read(fd, stat[:])
	return err == nil && executed(stat[:n])
}

// executed reports whether, by its stat file, a process has executed a program.
func executed(stat procstat.Stat) bool {
	flags, ok := stat.Uint(procstat.Flags)
	return ok && flags&procstat.ForkNoExec == 0
}

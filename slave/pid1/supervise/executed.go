package supervise

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// forkNoExec is PF_FORKNOEXEC of linux/sched.h: forked and not executed since.
const forkNoExec = 0x40

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

// executed looks at the flags in a stat file of proc(5). The name before them can
// have anything in it.
func executed(stat []byte) bool {
	const flags = 6 // of the fields after the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= flags {
		return false
	}
	value, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return err == nil && value&forkNoExec == 0
}

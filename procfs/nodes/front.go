package nodes

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/procfs"
	"bproc/wire"
)

// front is the procfs of this machine: the front end, or a node.
type front struct {
	proc   *os.File
	bootID string
}

func newFront(proc *os.File) (*front, error) {
	f := &front{proc: proc}
	boot, err := f.read("sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("boot id: %w", err)
	}
	f.bootID = strings.TrimSpace(string(boot))
	return f, nil
}

// read returns the content of a small file.
func (f *front) read(path string) ([]byte, error) {
	fd, err := unix.Openat(int(f.proc.Fd()), path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

// place returns the place of the ghost of a process; false if there is none.
func (f *front) place(pid wire.PID) (place, bool) {
	text, err := f.read(pid.String() + "/stat")
	if err != nil {
		return place{}, false
	}
	line, err := parseStat(text, pid)
	if err != nil {
		return place{}, false
	}
	return place{wire.PID(line.number(procstat.Parent)), line.number(procstat.TTY), line.number(procstat.Foreground)}, true
}

// shift returns the difference to add to a node's start times. It is 0, without rounding, where
// node and front end are one machine.
func (f *front) shift(at *wire.Shown) (int64, error) {
	if at.BootID == f.bootID {
		return 0, nil
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("time since boot: %w", err)
	}
	return (now.Nano() - int64(at.Uptime)) / int64(procfs.Tick), nil
}

package ghost

import (
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// readProc returns the content of a file of a process.
func readProc(pid wire.PID, name string) ([]byte, error) {
	return procstat.ReadFile(fileOf(pid, name), procstat.Whole)
}

// writeProc writes to a file of a process.
func writeProc(pid wire.PID, name, text string) error {
	path := fileOf(pid, name)
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func fileOf(pid wire.PID, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

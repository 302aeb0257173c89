package ghost

import (
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// openProc opens a file of a process. Package os would make some ten system calls
// more for each file, to find that it cannot be polled.
func openProc(pid wire.PID, name string, mode int) (fd int, err error) {
	path := fmt.Sprintf("/proc/%d/%s", pid, name)
	if fd, err = unix.Open(path, mode|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// readProc returns what is in a file of a process. The kernel makes up such a file
// when it is read, and gives all of it that there is room for.
func readProc(pid wire.PID, name string) ([]byte, error) {
	fd, err := openProc(pid, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 4<<10)
	for {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err != nil {
			return nil, fmt.Errorf("read %s of process %d: %w", name, pid, err)
		}
		if text = text[:len(text)+n]; len(text) < cap(text) {
			return text, nil
		}
		text = append(text, make([]byte, len(text))...)[:len(text)]
	}
}

// writeProc writes to a file of a process.
func writeProc(pid wire.PID, name, text string) error {
	fd, err := openProc(pid, name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return fmt.Errorf("write %s of process %d: %w", name, pid, err)
	}
	return nil
}

package procstat

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// Whole is no bound on what is read.
const Whole = math.MaxInt

const firstRead = 4 << 10 // bytes; most files are smaller

// ReadFile returns what is in a file of procfs, up to a number of bytes. The kernel makes up such a file when it
// is read, and gives all of it that there is room for: a read that is not full is the last.
// Package os would make some ten system calls more for each file, to find that it cannot be
// polled. The error is that of open(2) or read(2): ENOENT or ESRCH for a process that is gone.
func ReadFile(path string, most int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, firstRead)
	for len(text) < most {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if text = text[:len(text)+n]; len(text) < cap(text) {
			break
		}
		text = slices.Grow(text, cap(text))
	}
	return text[:min(len(text), most)], nil
}

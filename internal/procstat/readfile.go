package procstat

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// Whole as the bound of ReadFile means no bound.
const Whole = math.MaxInt

const firstRead = 4 << 10 // bytes; most files are smaller

// ReadFile returns the contents of a file of procfs, up to most bytes. The kernel generates such a
// file when it is read, and fills the buffer if it can: a read that does not fill the buffer is the
// last one. Package os would make some ten more system calls for each file, to find that it cannot
// be polled. The error is that of open(2) or read(2): ENOENT or ESRCH if the process has ended.
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

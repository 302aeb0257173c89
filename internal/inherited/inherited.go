// Package inherited handles the descriptors with which a program was started.
package inherited

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec marks all descriptors from first on close-on-exec. Linux 5.10 has close_range(2)
// without CLOSE_RANGE_CLOEXEC.
func CloseOnExec(first int) error {
	err := unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("inherited descriptors: %w", err)
	}
	for _, entry := range list {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

package target

import (
	"bytes"
	"errors"
	"os"
	"strconv"
)

// procUmask returns the umask that /proc shows (proc_pid_status(5)).
func procUmask() (uint32, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			mask, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 32)
			return uint32(mask), err
		}
	}
	return 0, errors.New("no umask in /proc/self/status")
}

package enter

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DropCapabilities takes from the calling thread what a file capability has given it:
// the program that it executes then has what its user has. Root's are root's own.
func DropCapabilities() error {
	if unix.Geteuid() == 0 {
		return nil
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

package procstat

import (
	"os"
	"strings"
)

// BootID returns the id of the present boot of this machine (proc_sys_kernel(5)); empty: it cannot be
// read.
func BootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

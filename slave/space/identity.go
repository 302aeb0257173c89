package space

import (
	"fmt"
	"os"

	"bproc/internal/procstat"
)

// Identity returns a number for the space, the same for each daemon that has it. A space that is
// made anew has another, whether the machine was started anew or not. It is never 0.
func (s *Space) Identity() uint64 { return s.identity }

func readIdentity(pid int, namespace uint32) (uint64, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, fmt.Errorf("boot id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("start of init %d: %w", pid, err)
	}
	return procstat.NamespaceID(boot, uint64(namespace), stat), nil
}

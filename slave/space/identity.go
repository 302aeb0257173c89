package space

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"

	"bproc/internal/procstat"
)

// Identity returns a number for the space, the same for each daemon that has it. A space that is
// made anew has another, whether the machine was started anew or not. It is never 0.
func (s *Space) Identity() uint64 { return s.identity }

// identityOf makes the number of the kernel's boot id (proc_sys_kernel(5)), the PID namespace and
// the time when its init was started.
func identityOf(boot []byte, namespace uint32, initStat []byte) uint64 {
	h := fnv.New64a()
	h.Write(bytes.TrimSpace(boot))
	fmt.Fprint(h, " ", namespace, " ")
	h.Write(procstat.Stat(initStat).Field(procstat.Start))
	return max(h.Sum64(), 1)
}

func readIdentity(pid int, namespace uint32) (uint64, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, fmt.Errorf("boot id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("start of init %d: %w", pid, err)
	}
	return identityOf(boot, namespace, stat), nil
}

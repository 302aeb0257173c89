package procevents

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// explain adds to an error what the kernel or this process lacks for the program to load.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("watch processes: needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN (capabilities(7)): %w", err)
	}
	if _, btfErr := btf.LoadKernelSpec(); btfErr != nil {
		return fmt.Errorf("watch processes: the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF): %w", err)
	}
	if errors.Is(features.HaveMapType(ebpf.RingBuf), ebpf.ErrNotSupported) {
		return fmt.Errorf("watch processes: the kernel has no BPF ring buffers (Linux 5.8): %w", err)
	}
	return fmt.Errorf("watch processes: %w", err)
}

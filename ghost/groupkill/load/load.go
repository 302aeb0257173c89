// Package load loads the BPF program of package groupkill.
package load

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
)

// Load begins to watch this process's PID namespace. It needs Linux 5.10 with BTF, and CAP_BPF with CAP_PERFMON or
// CAP_SYS_ADMIN.
func Load() (*groupkill.Watch, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return nil, fmt.Errorf("inode of the PID namespace: %w", err)
	}
	return load(st.Ino, program())
}

// program names the program for this kernel.
func program() string {
	if features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnTaskPtRegs) != nil {
		return killsProgOnSignalOld
	}
	return killsProgOnSignal
}

// load loads one of the programs for a PID namespace with an inode number.
func load(namespace uint64, program string) (*groupkill.Watch, error) {
	// Before Linux 5.11 maps count against RLIMIT_MEMLOCK; this does nothing on later kernels.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, err
	}
	spec, err := loadKills()
	if err != nil {
		return nil, fmt.Errorf("read the BPF object: %w", err)
	}
	if err := spec.Variables[killsVarSpace].Set(uint32(namespace)); err != nil {
		return nil, fmt.Errorf("set constants of the BPF object: %w", err)
	}
	spec.Programs = map[string]*ebpf.ProgramSpec{program: spec.Programs[program]}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load the BPF program: %w", err)
	}
	defer objects.Close()
	attached, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "signal_generate", Program: objects.Programs[program]})
	if err != nil {
		return nil, fmt.Errorf("attach the BPF program: %w", err)
	}
	kills, errKills := file(objects.Maps[killsMapKills])
	running, errRunning := file(attached)
	w := groupkill.New(kills, running)
	if err := errors.Join(errKills, errRunning, attached.Close()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// file duplicates a descriptor.
func file(owner any) (*os.File, error) {
	o, ok := owner.(interface{ FD() int })
	if !ok {
		return nil, errors.New("the kernel has no BPF links (Linux 5.8)")
	}
	fd, err := unix.FcntlInt(uintptr(o.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate a BPF descriptor: %w", err)
	}
	return os.NewFile(uintptr(fd), "bpf"), nil
}

package marks

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"bproc/procfs/status"
	"bproc/wire"
)

// Kernel makes the marks by a BPF program that the kernel calls for each thread.
type Kernel struct {
	objects tasksObjects
	iter    *link.Iter
}

var _ status.Marker = (*Kernel)(nil)

// New loads the program for the PID namespace with an inode number.
func New(namespace uint64) (*Kernel, error) {
	// Before Linux 5.11 programs count against RLIMIT_MEMLOCK; this does nothing on later kernels.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, err
	}
	spec, err := loadTasks()
	if err != nil {
		return nil, fmt.Errorf("read the BPF object: %w", err)
	}
	if err := spec.Variables[tasksVarSpace].Set(uint32(namespace)); err != nil {
		return nil, fmt.Errorf("set constants of the BPF object: %w", err)
	}
	k := &Kernel{}
	if err := spec.LoadAndAssign(&k.objects, nil); err != nil {
		return nil, fmt.Errorf("load the BPF program: %w", err)
	}
	if k.iter, err = link.AttachIter(link.IterOptions{Program: k.objects.OnTask}); err != nil {
		return nil, errors.Join(fmt.Errorf("attach the BPF iterator: %w", err), k.objects.Close())
	}
	return k, nil
}

// markSize is the size of struct mark of bpf/marks.c.
const markSize = int(unsafe.Sizeof(tasksMark{}) - unsafe.Offsetof(tasksMark{}.Pid))

// seqBuffer is the most that the kernel returns in one read: the buffer of an iterator has eight
// pages of 4 KiB (kernel/bpf/bpf_iter.c).
const seqBuffer = 32 << 10

// Marks implements [status.Marker].
func (k *Kernel) Marks(yield func(status.Mark)) error {
	pass, err := k.iter.Open()
	if err != nil {
		return fmt.Errorf("begin a pass over all threads: %w", err)
	}
	defer pass.Close()
	r := bufio.NewReaderSize(pass, seqBuffer)
	var b [markSize]byte
	for {
		if _, err := io.ReadFull(r, b[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("pass over all threads: %w", err)
		}
		yield(status.Mark{
			PID:   wire.PID(binary.NativeEndian.Uint32(b[0:])),
			TID:   wire.PID(binary.NativeEndian.Uint32(b[4:])),
			Start: binary.NativeEndian.Uint64(b[8:]),
			Value: binary.NativeEndian.Uint64(b[16:]), Groups: binary.NativeEndian.Uint64(b[24:]),
		})
	}
}

// Close implements io.Closer.
func (k *Kernel) Close() error { return errors.Join(k.iter.Close(), k.objects.Close()) }

// Package groupkill tells which signals were sent to whole process groups. A process that gets a signal of kill(2)
// cannot know (sigaction(2)). A BPF program notes each kill of a group before its processes get the signal. Package load
// loads it, in a process of its own (bpgroups), whose memory and code this process does not need.
package groupkill

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Watch knows the kills of the groups of one PID namespace.
type Watch struct {
	kills   *os.File // the program's map
	program *os.File // keeps it attached
}

// New returns a Watch for the files of package load, which it owns.
func New(kills, program *os.File) *Watch { return &Watch{kills: kills, program: program} }

// loadTime is how long a program may take to load: it reads the types of the whole kernel.
const loadTime = 2 * time.Minute

// files is the number of descriptors that bpgroups sends.
const files = 2

// Start starts bpgroups, the program at a path, and returns when it has loaded the BPF program for its PID namespace.
func Start(ctx context.Context, path string) (*Watch, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "bpgroups"), os.NewFile(uintptr(pair[1]), "bpgroups")
	defer ours.Close()
	var says strings.Builder
	cmd := exec.CommandContext(ctx, path, "--to-fd", "3")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, &says
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	err = cmd.Wait()
	if errors.Is(err, unix.ECHILD) {
		err = nil // who ignores SIGCHLD has no statuses (wait(2)), but has waited
	}
	w, got := receive(pair[0])
	switch {
	case got == nil:
		return w, nil
	case says.Len() > 0:
		return nil, errors.New(strings.TrimSpace(says.String()))
	default:
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, got))
	}
}

// receive receives the descriptors that Send has sent.
func receive(socket int) (*Watch, error) {
	oob := make([]byte, unix.CmsgSpace(4*files))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, fmt.Errorf("receive descriptors: %w", err)
	}
	all, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(all) != 1 {
		return nil, fmt.Errorf("no descriptors came: %w", errors.Join(err, unix.EBADMSG))
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != files {
		return nil, fmt.Errorf("%d descriptors came: %w", len(fds), errors.Join(err, unix.EBADMSG))
	}
	return New(os.NewFile(uintptr(fds[0]), "kills"), os.NewFile(uintptr(fds[1]), "bpf link")), nil
}

// Send sends a Watch to Start, through a socket.
func (w *Watch) Send(socket int) error {
	defer runtime.KeepAlive(w)
	rights := unix.UnixRights(int(w.kills.Fd()), int(w.program.Fd()))
	if err := unix.Sendmsg(socket, []byte{0}, rights, nil, 0); err != nil {
		return fmt.Errorf("send descriptors: %w", err)
	}
	return nil
}

// maxAge is how long after a kill of a group a process can still be about to get the signal.
const maxAge = 5 * time.Second

// kill is the key of the program's map, struct kill of load/bpf/groupkill.c.
type kill struct{ group, signal, sender uint32 }

// lookup is the attribute of BPF_MAP_LOOKUP_ELEM (bpf(2)).
type lookup struct {
	fd         uint32
	_          uint32
	key, value unsafe.Pointer
	flags      uint64
}

// Now returns the time from boot in nanoseconds.
func Now() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // the clock exists since Linux 2.6.39
	return uint64(now.Nano())
}

// Sent returns when a signal was last sent to a group, in nanoseconds from boot; 0: not lately. sender is as the
// receivers see it.
func (w *Watch) Sent(group wire.PID, signal unix.Signal, sender wire.PID) (at uint64) {
	key := kill{group: uint32(group), signal: uint32(signal), sender: uint32(sender)}
	var value [8]byte
	attr := lookup{fd: uint32(w.kills.Fd()), key: unsafe.Pointer(&key), value: unsafe.Pointer(&value)}
	if _, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_ELEM, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)); errno != 0 {
		return 0 // there is no such entry
	}
	at = binary.NativeEndian.Uint64(value[:])
	if Now() > at+uint64(maxAge) {
		return 0
	}
	return at
}

// Close implements io.Closer.
func (w *Watch) Close() error { return errors.Join(w.kills.Close(), w.program.Close()) }

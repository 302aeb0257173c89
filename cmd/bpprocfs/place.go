package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/ghost/mark"
	"bproc/internal/client"
	"bproc/slave/pid1/standin"
	"bproc/wire"
)

// openProc opens the procfs that process pid sees, or this process's own (0).
func openProc(pid int) (*os.File, error) {
	if pid == 0 {
		return os.Open("/proc")
	}
	return os.Open(fmt.Sprintf("/proc/%d/root/proc", pid))
}

// placeTime is how long the master may take to say which machine this is.
const placeTime = 3 * time.Second

// localOf finds out which machine this is. local reports the processes of the procfs that are shown
// although the master does not know them; it is nil on the front end. awaited reports the processes
// that the master must know. inner reports whether the procfs is that of a process space. There,
// init and the stand-ins are not processes of the cluster. On a node outside of its space no
// process is.
func localOf(ctx context.Context, master *client.Client, proc *os.File) (local, awaited func(wire.PID) bool, inner bool) {
	path := fmt.Sprintf("/proc/self/fd/%d", proc.Fd())
	onNode := useNode(master)
	if standin.IsSpace(path) {
		local = func(pid wire.PID) bool { return pid > 1 && !standin.Is(path, pid) }
		return local, local, true
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	if _, here, err := master.NodesSeen(ctx); err == nil {
		onNode = here != nil
	}
	if !onNode {
		return nil, func(pid wire.PID) bool { return isGhost(proc, pid) }, false
	}
	return func(wire.PID) bool { return false }, nil, false
}

// isGhost reports whether a process of the front end is a ghost.
func isGhost(proc *os.File, pid wire.PID) bool {
	fd, err := unix.Openat(int(proc.Fd()), pid.String()+"/"+mark.File, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var text [32]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return false
	}
	held, _ := mark.Parse(text[:n])
	return held
}

// useNode makes the client ask the daemon of this node if this machine is not a front end, and
// reports whether it did.
func useNode(master *client.Client) bool {
	if os.Getenv("BPROC_SOCKET") != "" || exists(client.DefaultSocket) || !exists(client.NodeSocket) {
		return false
	}
	master.Socket = client.NodeSocket
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// awaitEnd returns when the other end of a pipe is closed.
func awaitEnd(fd int) {
	f := os.NewFile(uintptr(fd), "life")
	defer f.Close()
	_, _ = io.Copy(io.Discard, f)
}

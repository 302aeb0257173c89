package fakemaster

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

// ghostSocket is the socket on which ghosts ask how to end, in the directory of their image.
const ghostSocket = "ghosts.sock"

// Main runs the tests or a ghost. A ghost is the image without an environment.
func Main(m *testing.M) {
	exe, err := os.Executable()
	if err == nil && filepath.Base(exe) == "ghost" && len(os.Environ()) == 0 {
		ghost(filepath.Join(filepath.Dir(exe), ghostSocket))
	}
	limit.Tests(m) // keeps the exit code for the caller of TestMain
}

// ghost ends as the fake master demands, or with the fake master.
func ghost(socket string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		unix.Exit(99)
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(os.Getpid()))
	_, _ = conn.Write(b[:])
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		unix.Exit(98)
	}
	status := wire.Status(binary.LittleEndian.Uint32(b[:]))
	if sig, ok := status.Signaled(); ok {
		// The Go runtime catches real-time signals, which end other programs.
		var action [32]byte // struct sigaction of the kernel: SIG_DFL
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		_ = unix.Kill(os.Getpid(), unix.Signal(sig))
		time.Sleep(time.Minute) // until the signal arrives
	}
	code, _ := status.Exited()
	unix.Exit(code) // os.Exit takes a second under the race detector
}

// installGhost copies the test program into dir.
func installGhost(dir string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ghost")
	if os.Link(exe, path) == nil {
		return path, nil
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, program, 0o755)
}

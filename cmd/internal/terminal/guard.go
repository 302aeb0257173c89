package terminal

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// guardSuffix is appended to the command's name to make the guard's name.
const guardSuffix = "-terminal-guard"

// guard is the process that restores the settings of the terminal.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// dismissed tells the guard that it is no longer needed.
const dismissed = 'd'

func startGuard(fd int, saved *modes) (*guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = filepath.Base(os.Args[0]) + guardSuffix
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.Dir = "/"
	// Not os.NewFile(fd), whose finalizer would close the descriptor.
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	terminal := os.NewFile(uintptr(own), "terminal")
	defer terminal.Close()
	cmd.Stdin = read
	cmd.ExtraFiles = []*os.File{terminal}
	// In its own process group, so that it does not get our group's signals from the terminal.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil, err
	}
	g := &guard{cmd: cmd, pipe: write}
	if _, err := write.Write(saved[:]); err != nil {
		g.dismiss()
		return nil, err
	}
	return g, nil
}

// dismiss ends the guard.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_, _ = g.pipe.Write([]byte{dismissed})
	g.pipe.Close()
	_ = g.cmd.Wait()
}

// Guard runs a guard if this process is one, and reports whether it is. A command that uses a
// terminal calls it first.
func Guard() bool {
	name := os.Args[0]
	if len(name) < len(guardSuffix) || name[len(name)-len(guardSuffix):] != guardSuffix || len(os.Args) != 1 {
		return false
	}
	// A background process may change settings if it ignores SIGTTOU (termios(3)).
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN, unix.SIGTSTP, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTERM)
	var m modes
	if _, err := io.ReadFull(os.Stdin, m[:]); err != nil {
		return true
	}
	var word [1]byte
	if n, _ := os.Stdin.Read(word[:]); n == 0 || word[0] != dismissed {
		_ = setModes(3, &m)
	}
	return true
}

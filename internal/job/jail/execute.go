package jail

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// execute executes the program.
func execute(s *spec.Spec, c *command) error {
	path, err := look(s.Path, s.Env)
	if err != nil {
		return err
	}
	if s.Action != spec.Shell {
		if err := c.format(path); err != nil {
			return err
		}
	}
	if err := limitFiles(c.files); err != nil { // nothing is opened from here on
		return err
	}
	if s.Action != spec.Shell {
		if err := c.last(s.Processes); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %w: %w", path, errNotExecuted, syscall.Exec(path, c.args, s.Env))
}

// last sets the limit of processes, if there is one, and says that the program is executed. The runtime of Go
// counts under the limit, and ends the program if it cannot have another thread. It wants one for goroutines that
// wait for a processor; this one keeps the only processor, as the runtime does not see its system calls.
func (c *command) last(processes uint64) error {
	if c.bound == nil {
		_, err := os.Stderr.WriteString(spec.Ready)
		return err
	}
	runtime.GOMAXPROCS(1)
	if err := writeUnseen(int(c.bound.Fd()), strconv.FormatUint(processes, 10)); err != nil {
		return fmt.Errorf("limit of processes: %w", err)
	}
	return writeUnseen(unix.Stderr, spec.Ready)
}

// writeUnseen writes a short text, as one write, without telling the runtime.
func writeUnseen(fd int, text string) error {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(len(text)))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}

// Reasons why a program is not executed.
var (
	errNotFound    = errors.New("is not on the node")
	errNotExecuted = errors.New("cannot be executed")
)

// look returns the path of a program, after a check that its user can execute it.
func look(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	if i >= 0 {
		for dir := range strings.SplitSeq(strings.TrimPrefix(env[i], "PATH="), ":") {
			if path := dir + "/" + name; dir != "" && executable(path) == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s %w in PATH", name, errNotFound)
}

func executable(path string) error {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%s %w", path, errNotFound)
	case err != nil:
		return fmt.Errorf("%s %w: %w", path, errNotExecuted, err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s %w: it is not a file", path, errNotExecuted)
	}
	return nil
}

// Bpns runs a command in a mount namespace in which /proc shows the processes of the
// whole cluster. See bpns(1).
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/onscreen"
	"bproc/procfs/enter"
)

// view is the mount point of the front end's view.
const view = "/run/bproc/proc"

const usage = `usage: bpns [command [argument ...]]
  -h, --help   print this
`

// Exit codes, as in env(1).
const (
	exitOwn      = 125
	exitNoExec   = 126
	exitNotFound = 127
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-h", "--help":
			if _, err := fmt.Print(usage); err != nil {
				say(err)
				os.Exit(exitOwn)
			}
			return
		case "--":
			args = args[1:]
		default:
			say(fmt.Errorf("there is no option %s; --help says how it is used", args[0]))
			os.Exit(exitOwn)
		}
	}
	err := run(args)
	say(err)
	os.Exit(exitCode(err))
}

// errExec is the error if the command cannot be executed, or is not found.
var errExec = errors.New("execute")

func exitCode(err error) int {
	switch {
	case !errors.Is(err, errExec):
		return exitOwn
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	}
	return exitNoExec
}

// run executes the command in place of this process. It returns only on error.
func run(args []string) error {
	runtime.LockOSThread() // namespace and capabilities belong to a thread; execve(2) keeps this one's
	if err := enter.View(view); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w; it needs the file capability cap_sys_admin, which has no effect under no_new_privs", err)
		}
		return err
	}
	if err := enter.DropCapabilities(); err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{shell()}
	}
	return execute(args)
}

// execute executes a command as a shell does: PATH is the user's, and may have the working directory in it.
func execute(args []string) error {
	path, err := exec.LookPath(args[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		err = unix.Exec(path, args, os.Environ())
	}
	if missing := (*exec.Error)(nil); errors.As(err, &missing) {
		err = missing.Err // the name is said already
	}
	return fmt.Errorf("%w %s: %w", errExec, args[0], err)
}

// shell returns the user's shell: SHELL of the environment, as su(1) and screen(1) do, or that of
// the user database.
func shell() string {
	if s := os.Getenv("SHELL"); s != "" {
		return s
	}
	users, err := os.Open("/etc/passwd")
	if err != nil {
		return "/bin/sh"
	}
	defer users.Close()
	uid := strconv.Itoa(os.Getuid())
	for lines := bufio.NewScanner(users); lines.Scan(); {
		if f := strings.Split(lines.Text(), ":"); len(f) == 7 && f[2] == uid && f[6] != "" {
			return f[6]
		}
	}
	return "/bin/sh"
}

// say prints a line on standard error.
func say(err error) { fmt.Fprintf(os.Stderr, "bpns: %s\n", onscreen.Line(err.Error())) }

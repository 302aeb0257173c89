package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/procfs/guard"
	"bproc/procfs/scout"
	"bproc/test/limit"
)

// inNamespace is set in a process that has a mount namespace of its own.
const inNamespace = "BPROC_TEST_MOUNTS"

// guardName is the name of the guard of a view in tests.
const guardName = "guard"

// scoutName is the name of the scout of a view in tests.
const scoutName = "scout"

// TestMain runs the tests in a mount namespace of their own, so that no mounts are left.
func TestMain(m *testing.M) {
	if os.Args[0] == guardName {
		if err := guard.Run(false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Args[0] == scoutName {
		if err := scout.Run(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if at := os.Getenv(victimVariable); at != "" {
		if err := victim(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Fprintf(os.Stderr, "make mounts private: %v\n", err)
			os.Exit(1)
		}
		os.Exit(limit.Tests(m))
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	err := limit.Run(cmd, os.Stderr)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(max(1, ended.ExitCode()))
	case err != nil:
		fmt.Fprintf(os.Stderr, "tests need a mount namespace: %v\n", err)
		os.Exit(1)
	}
}

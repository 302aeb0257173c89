package door

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// settings are the file systems whose files are settings of the kernel. Of some of them the kernel asks what the one
// who writes may do, not the one who has opened the file: with /proc/self/oom_score_adj as its output, a command of
// root's would do for a user what only root may (credentials(7), proc(5)).
var settings = map[int64]string{
	unix.PROC_SUPER_MAGIC: "/proc", unix.SYSFS_MAGIC: "/sys", unix.SECURITYFS_MAGIC: "/sys/kernel/security",
	unix.DEBUGFS_MAGIC: "/sys/kernel/debug", unix.TRACEFS_MAGIC: "/sys/kernel/tracing",
	unix.CGROUP_SUPER_MAGIC: "control groups", unix.CGROUP2_SUPER_MAGIC: "control groups",
	unix.SELINUX_MAGIC: "SELinux", unix.SMACK_MAGIC: "Smack",
}

// names are those of the descriptors of a request.
var names = [descriptors]string{"standard input", "standard output", "standard error"}

// The command itself finds out what its descriptors are: fstatfs(2) does not return while a file system
// of the user's does not answer, and not even SIGKILL ends it (fuse).
const (
	verdictVariable = "BPJOB_VERDICT" // set: the service waits for the verdict
	verdict         = descriptors     // descriptor on which the command says what is wrong, or nothing
)

// Check checks the descriptors of a command that a [Server] has started. The command calls it first,
// before it reads or writes. It reports whether the command may go on; if not, the user is told why.
func Check() bool {
	if os.Getenv(verdictVariable) == "" {
		return true
	}
	os.Unsetenv(verdictVariable)
	out := os.NewFile(verdict, "verdict")
	defer out.Close()
	err := check()
	if err != nil {
		fmt.Fprint(out, err) // the service has gone if it fails
	}
	return err == nil
}

// check returns an error if a command of root's is not to have its descriptors.
func check() error {
	for fd, name := range names {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return fmt.Errorf("%s: %w", name, os.NewSyscallError("fstatfs", err))
		}
		if where, is := settings[int64(fs.Type)]; is {
			return fmt.Errorf("%s is a file of the kernel (%s), which root would read or write for you: pipe it through cat", name, where)
		}
	}
	return nil
}

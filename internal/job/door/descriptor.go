package door

import (
	"errors"
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
	unix.SELINUX_MAGIC: "SELinux", unix.SMACK_MAGIC: "Smack", fusectlMagic: "/sys/fs/fuse/connections",
}

// fusectlMagic is FUSE_CTL_SUPER_MAGIC (fs/fuse/control.c). Files there belong to the user who has mounted.
const fusectlMagic = 0x65735543

// names are those of the descriptors of a request.
var names = [descriptors]string{"standard input", "standard output", "standard error"}

// check returns an error if a command of root's is not to have the descriptors of a user. What root writes to a unix
// socket bears root's name (SO_PASSCRED of unix(7)): the journal's would have the user's text as root's. What root
// writes to a file does not take its set-user-ID bit away, as it would if the user did (write(2)).
func check(files []*os.File) error {
	if len(files) != descriptors {
		return errors.New("request: standard input, output and error must come with it")
	}
	for i, f := range files {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
			return fmt.Errorf("%s: %w", names[i], os.NewSyscallError("fstatfs", err))
		}
		if where, is := settings[int64(fs.Type)]; is {
			return fmt.Errorf("%s is a file of the kernel (%s), which root would read or write for you: pipe it through cat", names[i], where)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return fmt.Errorf("%s: %w", names[i], os.NewSyscallError("fstat", err))
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
				return fmt.Errorf("%s is a set-user-ID or set-group-ID file, which root would change for you: pipe it through cat", names[i])
			}
		case unix.S_IFSOCK:
			if IsUnixSocket(f) {
				return fmt.Errorf("%s is a unix socket, to which root would write for you: pipe it through cat", names[i])
			}
			kind, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_TYPE)
			if err != nil || kind != unix.SOCK_STREAM {
				return fmt.Errorf("%s is a socket for messages, which root would send for you: pipe it through cat", names[i])
			}
		}
	}
	return nil
}

// IsUnixSocket reports whether a file is a unix socket.
func IsUnixSocket(f *os.File) bool {
	domain, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domain == unix.AF_UNIX
}

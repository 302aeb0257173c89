package jail

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// ownOpenFiles is more than the number of files that bpjail has open at the same time.
const ownOpenFiles = 64

// limit sets the limits of each process. It leaves room for bpjail's own open files, until it executes
// the program.
func limit(s *spec.Spec) error {
	core := s.CoreFileSize
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: core, Max: core}); err != nil {
		return fmt.Errorf("limit of core files, %d: %w", core, err)
	}
	if s.OpenFiles == 0 {
		return nil
	}
	return limitFiles(max(s.OpenFiles, ownOpenFiles))
}

// limitFiles sets the limit of open files, unless it is 0. It does not use Setrlimit of package unix: the runtime
// would restore the original limit when it executes the program.
func limitFiles(files uint64) error {
	if files == 0 {
		return nil
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}); err != nil {
		return fmt.Errorf("limit of open files, %d: %w", files, err)
	}
	return nil
}

// wanted returns the capabilities of the job: those that it lists or, if it is privileged, all that
// root has on the node.
func wanted(s *spec.Spec) ([]capability.Cap, error) {
	own, err := capability.NewPid2(0)
	if err == nil {
		err = own.Load()
	}
	if err != nil {
		return nil, fmt.Errorf("capabilities of the node: %w", err)
	}
	var caps []capability.Cap
	for _, c := range capability.ListKnown() {
		listed := slices.Contains(s.Capabilities, strings.ToUpper(c.String()))
		has := own.Get(capability.PERMITTED, c)
		if listed && !has {
			return nil, fmt.Errorf("root of the node does not have the capability %s, which the job lists", strings.ToUpper(c.String()))
		}
		if listed || s.Privileged && has {
			caps = append(caps, c)
		}
	}
	return caps, nil
}

// become takes on the user and the capabilities of the job. It makes the calls for this thread
// only, which executes the program.
func become(s *spec.Spec, keep []capability.Cap) error {
	last, err := capability.LastCap()
	if err != nil {
		return fmt.Errorf("capabilities of the node: %w", err)
	}
	for c := capability.Cap(0); c <= last; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %v: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep capabilities: %w", err)
	}
	if err := identify(s); err != nil {
		return err
	}
	if err := capabilities(keep); err != nil {
		return err
	}
	if s.Privileged {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

// identify takes on the user.
func identify(s *spec.Spec) error {
	// The outputs are pipes. A process that opens /dev/stdout opens a pipe again, for which it must
	// be the owner.
	for fd := 1; fd <= 2; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			if err := unix.Fchown(fd, int(s.UID), int(s.GID)); err != nil {
				return fmt.Errorf("outputs of the job: %w", err)
			}
		}
	}
	uid, gid := uintptr(s.UID), uintptr(s.GID)
	if err := spec.SetGroups(s.Groups); err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid)
	}
	if errno != 0 {
		return fmt.Errorf("become user %d: %w", s.UID, errno)
	}
	return nil
}

// capabilities sets all capability sets of this thread (capabilities(7)).
func capabilities(keep []capability.Cap) error {
	var data [2]unix.CapUserData
	for _, c := range keep {
		bit := uint32(1) << (c % 32)
		d := &data[c/32]
		d.Effective, d.Permitted, d.Inheritable = d.Effective|bit, d.Permitted|bit, d.Inheritable|bit
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("set capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for _, c := range keep {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(c), 0, 0); err != nil {
			return fmt.Errorf("raise capability %v: %w", c, err)
		}
	}
	return nil
}

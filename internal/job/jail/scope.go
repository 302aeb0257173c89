package jail

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// Versions of Landlock (landlock(7)): the first in which files can be moved between directories, and
// the first in which signals are a scope of their own.
const (
	landlockRefer  = 2
	landlockScopes = 6
)

// landlockSignal is LANDLOCK_SCOPE_SIGNAL.
const landlockSignal = 1 << 1

// rulesetAttr is struct landlock_ruleset_attr, pathAttr landlock_path_beneath_attr, which is packed.
type rulesetAttr struct {
	handledFS, handledNet, scoped uint64
}

type pathAttr struct {
	allowed uint64
	parent  int32
}

const sizeofOldRuleset = 8 // up to version 3

// confine has the job see and signal nobody else, and make none of the system calls that no job
// makes. What is done after it is under the filter.
func confine(s *spec.Spec, has []capability.Cap) error {
	if s.Privileged {
		return nil
	}
	if !s.AllProcesses && s.Action != spec.Shell { // a shell in a domain of its own would not see the process
		if err := scope(); err != nil {
			return fmt.Errorf("take other processes out of the job's sight: %w", err)
		}
	}
	return install(has)
}

// scope begins a Landlock domain that restricts nothing but whom the process sees: on
// kernels that know no scopes of signals it allows the one right that it is about.
func scope() error {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	switch {
	case errno == unix.ENOSYS || errno == unix.EOPNOTSUPP || errno == 0 && v < landlockRefer:
		return nil // there is none: see the package comment
	case errno != 0:
		return errno
	}
	attr, size := rulesetAttr{handledFS: unix.LANDLOCK_ACCESS_FS_REFER}, uintptr(sizeofOldRuleset)
	if v >= landlockScopes {
		attr, size = rulesetAttr{scoped: landlockSignal}, unsafe.Sizeof(attr)
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	if attr.handledFS != 0 {
		if err := allowEverywhere(int(fd), attr.handledFS); err != nil {
			return err
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func allowEverywhere(ruleset int, rights uint64) error {
	at, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	path := pathAttr{allowed: rights, parent: int32(at)}
	const beneath = 1 // LANDLOCK_RULE_PATH_BENEATH
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), beneath, uintptr(unsafe.Pointer(&path)), 0, 0, 0)
	if errno != 0 {
		return errors.New("allow to move files: " + errno.Error())
	}
	return nil
}

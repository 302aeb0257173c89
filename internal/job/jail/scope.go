package jail

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
	"bproc/internal/probe"
)

// landlockSignal is LANDLOCK_SCOPE_SIGNAL.
const landlockSignal = 1 << 1

// rulesetAttr is struct landlock_ruleset_attr. pathAttr is landlock_path_beneath_attr, which is
// packed.
type rulesetAttr struct {
	handledFS, handledNet, scoped uint64
}

type pathAttr struct {
	allowed uint64
	parent  int32
}

const sizeofOldRuleset = 8 // up to ABI version 3

// confine hides other processes from the job and protects them from its signals, and installs the
// filter of system calls. Later calls are subject to the filter.
func confine(s *spec.Spec, has []capability.Cap) error {
	if s.Privileged {
		return nil
	}
	if !s.AllProcesses && s.Action != spec.Shell { // a shell in another domain could not see the process
		if err := scope(); err != nil {
			return fmt.Errorf("take other processes out of the job's sight: %w", err)
		}
	}
	return install(has)
}

// scope begins a Landlock domain that restricts only which processes the job sees and signals. On
// kernels without scopes for signals, the domain handles one right, and grants it everywhere.
func scope() error {
	v, err := probe.Landlock()
	if err != nil || v < probe.LandlockSight {
		return err // no Landlock: see the package comment
	}
	attr, size := rulesetAttr{handledFS: unix.LANDLOCK_ACCESS_FS_REFER}, uintptr(sizeofOldRuleset)
	if v >= probe.LandlockSignals {
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

package space

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/pidfd"
)

// pollInterval is how often a wait checks its context.
const pollInterval = 20 * time.Millisecond

// Destroy ends the space: every process in it, its cgroup, its namespaces and its directory. A Run
// that is under way returns ErrGone.
func (s *Space) Destroy(ctx context.Context) error {
	if err := s.End(ctx); err != nil {
		return fmt.Errorf("destroy space %s: %w", s.cfg.Name, err)
	}
	var errs []error
	if s.container != nil {
		parents := s.cgroupParents()
		errs = append(errs, s.container.Destroy())
		s.cfg.removeParents(parents)
	}
	s.fail()
	err := s.cfg.clearView()
	if err == nil { // otherwise this would remove what is mounted
		err = os.RemoveAll(s.cfg.Dir)
	}
	errs = append(errs, s.closeFiles(), err)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("destroy space %s: %w", s.cfg.Name, err)
	}
	return nil
}

// KillInit ends bpinit, and with it the space, and does not wait for that. It may be called during
// Run.
func (s *Space) KillInit() error {
	if err := unix.PidfdSendSignal(s.pidfd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill init: %w", err)
	}
	return nil
}

// End ends bpinit and waits until all processes of the space are gone: the kernel ends them before
// it lets bpinit go. The space must still be destroyed or closed.
func (s *Space) End(ctx context.Context) error {
	if s.pidfd < 0 {
		return nil
	}
	if err := s.KillInit(); err != nil {
		return err
	}
	if err := s.Thaw(); err != nil && s.alive() {
		return err
	}
	for s.alive() {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the end of init: %w", context.Cause(ctx))
		}
	}
	return nil
}

// alive waits a little for the end of bpinit, and reports whether it still lives.
func (s *Space) alive() bool {
	return !pidfd.Ended(s.pidfd, pollInterval)
}

// cgroupParents returns the directories of the cgroups that contain the space's, if they are
// bproc's own.
func (s *Space) cgroupParents() []string {
	state, err := s.container.State()
	if err != nil {
		return nil
	}
	var dirs []string
	for _, path := range state.CgroupPaths {
		if dir := filepath.Dir(path); filepath.Base(dir) == cgroupParent {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

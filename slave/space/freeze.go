package space

import (
	"errors"
	"fmt"

	"github.com/opencontainers/runc/libcontainer"
)

// Freeze holds all processes of the space, bpinit too (cgroup freezer): what
// is asked of it meanwhile is done after Thaw.
func (s *Space) Freeze() error {
	if err := s.container.Pause(); err != nil {
		return fmt.Errorf("freeze space %s: %w", s.cfg.Name, err)
	}
	return nil
}

// Thaw lets them go on. A space that is not frozen stays as it is.
func (s *Space) Thaw() error {
	if err := s.container.Resume(); err != nil && !errors.Is(err, libcontainer.ErrNotPaused) {
		return fmt.Errorf("thaw space %s: %w", s.cfg.Name, err)
	}
	return nil
}

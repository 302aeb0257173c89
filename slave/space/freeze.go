package space

import (
	"fmt"
	"os"
	"path/filepath"
)

// Freeze holds the processes of the space, bpinit too (cgroup freezer): what
// is asked of it meanwhile is done after Thaw. Most are held when Freeze returns, the
// others at the next moment at which they can be. One that waits in a system call for
// the front end is held when it has the answer; libcontainer's Pause wants all held,
// and gives up when they are not.
func (s *Space) Freeze() error { return s.setFreezer("FROZEN", "1") }

// Thaw lets them go on. A space that is not frozen stays as it is.
func (s *Space) Thaw() error { return s.setFreezer("THAWED", "0") }

// setFreezer writes one of two texts, by the version of the cgroups:
// Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, cgroup-v2.rst.
func (s *Space) setFreezer(v1, v2 string) error {
	state, err := s.container.State()
	if err != nil {
		return fmt.Errorf("freezer of space %s: %w", s.cfg.Name, err)
	}
	dir, file, text := state.CgroupPaths["freezer"], "freezer.state", v1
	if dir == "" {
		dir, file, text = state.CgroupPaths[""], "cgroup.freeze", v2
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
		return fmt.Errorf("freezer of space %s: %w", s.cfg.Name, err)
	}
	return nil
}

package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"
)

// lockParents locks the cgroups that contain the spaces of this machine (flock(2), on the root of
// their hierarchy). The lock is shared while a space's cgroups are made in them, and exclusive
// while they are removed. With systemd they belong to systemd, and there is no lock.
func (c *Config) lockParents(how int) (unlock func(), err error) {
	group, err := c.cgroup()
	if err != nil {
		return nil, err
	}
	if group.Systemd {
		return func() {}, nil
	}
	m, err := manager.New(group)
	if err != nil {
		return nil, err
	}
	own := m.Path("freezer")
	if own == "" {
		own = m.Path("") // version 2
	}
	f, err := os.Open(filepath.Dir(filepath.Dir(own)))
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, errors.Join(fmt.Errorf("flock %s: %w", f.Name(), err), f.Close())
		default:
			return func() { _ = f.Close() }, nil
		}
	}
}

// removeParents removes the cgroups that contain the space's, unless other spaces are in them or
// about to be.
func (c *Config) removeParents(dirs []string) {
	unlock, err := c.lockParents(unix.LOCK_EX | unix.LOCK_NB)
	if err != nil {
		return
	}
	defer unlock()
	for _, dir := range dirs {
		_ = unix.Rmdir(dir)
	}
}

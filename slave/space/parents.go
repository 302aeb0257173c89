package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/cgroups/manager"
	"golang.org/x/sys/unix"
)

// lockParents locks the cgroups that hold the spaces of this machine (flock(2), on the
// root of their hierarchy): shared while a space's cgroups are made in them, exclusive while they
// are taken away, which no other daemon must do in between. With systemd they are its.
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

// removeParents takes away the cgroups that hold the space's, unless other spaces are in
// them, or about to be.
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

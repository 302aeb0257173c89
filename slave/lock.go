package slave

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bproc/internal/flock"
)

// lock makes sure that only one slave uses a directory.
func lock(dir string) (*os.File, error) {
	path := dir + ".lock" // beside it: the directory may be removed while it is used
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the slave: %w", err)
	}
	if err := flock.Take(f); err != nil {
		f.Close()
		if errors.Is(err, flock.ErrTaken) {
			return nil, fmt.Errorf("another slave uses %s already", dir)
		}
		return nil, err
	}
	return f, nil
}

// lockAll locks the directories of a slave. They need not exist yet.
func lockAll(cfg Config) (unlock func(), err error) {
	var locks []*os.File
	unlock = func() {
		for _, f := range locks {
			f.Close()
		}
	}
	for _, dir := range []string{cfg.State, cfg.Runtime} {
		if err = os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			break
		}
		var f *os.File
		if f, err = lock(dir); err != nil {
			break
		}
		locks = append(locks, f)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

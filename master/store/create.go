package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// create makes an empty store. It has its name only when it is complete.
func create(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), File+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // sweep removes it later, too
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, options(nil))
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(fill), db.Close()); err != nil {
		return err
	}
	// Not rename(2): another master may have made one meanwhile.
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// fill makes the tables of an empty store.
func fill(tx *bbolt.Tx) error {
	for _, name := range []string{Authority, Tokens, Nodes, Leases, ownTable} {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	own := table(tx, ownTable)
	seal := sealOf(ownTable, formatKey, []byte(currentFormat))
	return errors.Join(own.Put([]byte(formatKey), []byte(currentFormat)), own.Put([]byte(sealKey), seal[:]))
}

// sweep removes what masters have left that were killed in create. Nobody else makes
// a store now: there is one.
func sweep(path string) {
	left, err := filepath.Glob(path + ".*")
	if err != nil {
		return // the directory's name is no pattern
	}
	for _, name := range left {
		_ = os.Remove(name) // it is in nobody's way
	}
}

// syncDir makes the names in a directory survive a stop of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

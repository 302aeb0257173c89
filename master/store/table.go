package store

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"
)

// The tables of a store.
const (
	Authority = "authority"
	Tokens    = "tokens"
	Nodes     = "nodes"
	Leases    = "leases"
)

// ownTable is the store's own.
const (
	ownTable      = "store"
	formatKey     = "format"
	currentFormat = "1"
	sealKey       = "seal"
)

// Table is a table of a store: records by name.
type Table struct {
	store *Store
	name  string
}

// Table returns one of the store's tables.
func (s *Store) Table(name string) *Table { return &Table{store: s, name: name} }

// All returns the records.
func (t *Table) All() (map[string][]byte, error) {
	all := map[string][]byte{}
	err := t.store.db.View(func(tx *bbolt.Tx) error {
		return table(tx, t.name).ForEach(func(key, value []byte) error {
			all[string(key)] = bytes.Clone(value)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", t.name, t.store.path, err)
	}
	return all, nil
}

// Change puts records in, in place of those of the same names, and removes those that
// are nil: all of it or, with an error, nothing. When it returns, it is on disk.
func (t *Table) Change(records map[string][]byte) error {
	err := t.store.db.Update(func(tx *bbolt.Tx) error {
		own, of := table(tx, ownTable), table(tx, t.name)
		// The seal is that of the file, not of what its users remember: of a
		// change that has failed, the file may have all (fsync(2)).
		seal := sealFrom(own.Get([]byte(sealKey)))
		for name, record := range records {
			key := []byte(name)
			if old := of.Get(key); old != nil {
				seal = seal.and(sealOf(t.name, name, old))
			}
			if record == nil {
				if err := of.Delete(key); err != nil {
					return err
				}
				continue
			}
			seal = seal.and(sealOf(t.name, name, record))
			if err := of.Put(key, record); err != nil {
				return err
			}
		}
		return own.Put([]byte(sealKey), seal[:])
	})
	if err != nil {
		return fmt.Errorf("write %s of %s: %w", t.name, t.store.path, err)
	}
	return nil
}

func table(tx *bbolt.Tx, name string) *bbolt.Bucket { return tx.Bucket([]byte(name)) }

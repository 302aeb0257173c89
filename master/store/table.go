package store

import (
	"bytes"
	"fmt"
	"maps"
)

// The tables of a store.
const (
	Authority = "authority"
	Tokens    = "tokens"
	Nodes     = "nodes"
	Blocks    = "leases" // its name on disk, from before lease meant the time limit alone
)

// tables are all records, by table and name.
type tables map[string]map[string][]byte

// with returns the tables with other records in one of them. What it changes, it copies.
func (t tables) with(name string, records map[string][]byte) tables {
	changed := maps.Clone(t[name])
	if changed == nil {
		changed = map[string][]byte{}
	}
	for key, record := range records {
		if record == nil {
			delete(changed, key)
		} else {
			changed[key] = bytes.Clone(record)
		}
	}
	all := maps.Clone(t)
	all[name] = changed
	return all
}

// Table is a table of a store: records by name.
type Table struct {
	store *Store
	name  string
}

// Table returns one of the store's tables. One that was never written to is empty.
func (s *Store) Table(name string) *Table { return &Table{store: s, name: name} }

// All returns the records.
func (t *Table) All() (map[string][]byte, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	all := map[string][]byte{}
	for name, record := range t.store.tables[t.name] {
		all[name] = bytes.Clone(record)
	}
	return all, nil
}

// Change puts records in, in place of those of the same names, and removes those that
// are nil: all of it or, with an error, nothing. When it returns, it is on disk.
func (t *Table) Change(records map[string][]byte) error {
	if _, ok := records[""]; ok {
		return fmt.Errorf("write %s of %s: a record has no name", t.name, t.store.path)
	}
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	changed := t.store.tables.with(t.name, records)
	if err := t.store.write(changed); err != nil {
		return fmt.Errorf("write %s of %s: %w", t.name, t.store.path, err)
	}
	t.store.tables = changed
	return nil
}

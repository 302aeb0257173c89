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

// apply makes a change.
func (t tables) apply(c change) {
	records := t[c.table]
	if records == nil {
		records = map[string][]byte{}
		t[c.table] = records
	}
	for name, record := range c.records {
		if record == nil {
			delete(records, name)
		} else {
			records[name] = record
		}
	}
}

// clone returns tables with the same records.
func (t tables) clone() tables {
	all := tables{}
	for name, records := range t {
		all[name] = maps.Clone(records)
	}
	return all
}

// size returns an upper estimate of the length of a file with the tables.
func (t tables) size() int {
	const file, each = 256, 16 // bytes besides names and records
	size := file
	for name, records := range t {
		size += len(name) + each
		for key, record := range records {
			size += len(key) + len(record) + each
		}
	}
	return size
}

// Table is a table of a store: records by name.
type Table struct {
	store *Store
	name  string
}

// Table returns one of the store's tables. A table that was never written to is empty.
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

// Change puts records into the table, in place of those of the same names, and removes those that
// are nil: all of it or, with an error, nothing. When it returns, the change is on disk.
func (t *Table) Change(records map[string][]byte) error { return t.Begin(records)() }

// Begin is Change in two parts. Changes have the order of their begins. The function that it
// returns waits until this change, and those before it, are on disk. If it is not called, the
// change is written with a later one, or by Close. Changes that were begun at the same time go to
// disk together, or, with an error, none of them does.
func (t *Table) Begin(records map[string][]byte) (end func() error) {
	c := change{t.name, make(map[string][]byte, len(records))}
	for name, record := range records {
		c.records[name] = bytes.Clone(record)
	}
	if _, ok := records[""]; ok {
		return func() error { return fmt.Errorf("write %s of %s: a record has no name", t.name, t.store.path) }
	}
	b := t.store.begin(c)
	return func() error {
		if err := t.store.finish(b); err != nil {
			return fmt.Errorf("write %s of %s: %w", t.name, t.store.path, err)
		}
		return nil
	}
}

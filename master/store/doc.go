// Package store keeps on disk the data that the master must not lose: one file in the master's
// state directory, with tables of records.
//
//	authority  key and certificate of the authority         wire/link
//	tokens     tokens that were given out, by their hashes   wire/link
//	nodes      the node table, by number                     master
//	leases     numbers that nodes have, by node              master
//
// The package that keeps a record knows its meaning. [Table.Change] is a transaction: when it has
// returned, the change survives a kill and a loss of power; when it returns an error, the records
// are as before.
//
// All records are in memory. The file has all of them as they were at some time, and the changes
// since then. A change is appended, and is on disk before it is reported as done (fdatasync(2)).
// When the changes have become longer than the records, all records are written to a new file,
// which then takes the name of the old one (rename(2)), so there is never half of one. The same
// happens when the store is closed. Changes that are begun at the same time go to disk together.
//
// A SHA-256 covers everything in the file. A file with a flipped bit, or one that was cut before
// the end of its records, is refused with a [DamagedError]; it is never repaired, emptied or
// replaced. An incomplete change at the end of the file was not finished, and was not reported as
// done: it is cut off.
//
// One master has the directory, from [Open] to [Store.Close] (flock(2)); a second master gets an
// error at once.
//
// Several goroutines may use a store.
package store

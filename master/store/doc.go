// Package store keeps on disk what the master must not lose: one file in the master's
// state directory, with tables of records.
//
//	authority  key and certificate of the authority         wire/link
//	tokens     tokens that were given out, by their hashes   wire/link
//	nodes      the node table, by number                     master
//	leases     numbers that nodes have, by node              master
//
// The package that keeps a record knows what it means. [Table.Change] is a transaction:
// when it has returned, the change survives a kill and a loss of power; when it returns an
// error, the records are as before.
//
// All records are in memory. A change writes all of them to a new file, which then takes the
// name of the old one (rename(2)), so there is never half of one. That is simple, and
// quick enough: the records of thousands of nodes are less than a megabyte. The file is
// its format, the records and a SHA-256 of both. A file with a flipped bit, or one that
// was cut, is refused with a [DamagedError]; it is never repaired, emptied or replaced.
//
// One master has the directory, from [Open] to [Store.Close] (flock(2)); a second one gets
// an error at once.
//
// A store may be used by several goroutines.
package store

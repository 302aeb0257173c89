// Package store is what the master must not lose, on disk: one file of bbolt
// (go.etcd.io/bbolt) in the master's state directory, with a bucket for each table.
//
//	authority  key and certificate of the authority         wire/link
//	tokens     tokens that were given out, by their hashes   wire/link
//	nodes      the node table, by number                     master
//	store      format, seal                                  here
//
// What a record means is the business of the package that keeps it. A change is
// one transaction: when [Table.Change] has returned, it survives a kill and a loss
// of power; when it returns an error, nothing has changed. A file comes into being
// under another name, so there is never half of one.
//
// One master has the file, from [Open] to [Store.Close] (flock(2)); a second one is
// told so at once.
//
// # Damage
//
// bbolt has a checksum on each of its two meta pages and none on the others. It
// follows a damaged page wherever that leads, in goroutines of its own: it faults,
// goes round in circles or panics, and nobody can recover that. With a damaged meta
// page it goes back to the one before, and so to older records, without a word.
// Therefore Open looks through the whole file by itself before bbolt does (image.go):
// both meta pages must be good, every page must be in one place of one tree, and
// every key in its order. The seal is the exclusive or of the SHA-256 of all records;
// every change brings it up to date in the same transaction. So a file with a flipped
// bit, or one that was cut, is either as good as before or refused with a
// [DamagedError]. It is never repaired, emptied or replaced.
//
// A store may be used by several goroutines.
package store

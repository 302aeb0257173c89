// Package pidmap is the bookkeeping of process numbers: who may give which.
//
//	1                 2^20-2^16     2^20                                    2^22
//	+-----------------+-------------+------+-----+------+-----+------+-----+--
//	| local zone      | guard       | block| gap | block| gap | block| gap | ...
//	+-----------------+-------------+------+-----+------+-----+------+-----+--
//	  front end's kernel              node A       node C       node A
//
// A number is chosen by whoever sees the process first. Numbers of the local zone
// are given by the front end's own kernel. The guard is never given: it is the way
// that the front end's allocation cursor can still go before it is put back. The
// node zone is cut into blocks, which the master grants to nodes ([Allocator]). A
// node's kernel gives numbers in a row, beginning at its cursor, and skips those
// in use; the slave moves the cursor to its next block in good time ([Cursor]). The
// gap behind a block belongs to it: what the kernel gives there before the cursor
// has been moved is the same node's and nobody else's.
//
// The package has no I/O, no goroutines and no clock. An Allocator belongs to the
// master's core, a Cursor to the slave's recorder; neither locks.
package pidmap

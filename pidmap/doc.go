// Package pidmap is the bookkeeping of process numbers: who may give which.
//
//	1                 2^20-2^16     2^20                                    2^22
//	+-----------------+-------------+---------------+------+------+------+--
//	| local zone      | guard       | pool          | home | home | home | ...
//	+-----------------+-------------+---------------+------+------+------+--
//	  front end's kernel              by demand       A      B      C
//
// A number is chosen by whoever sees the process first. Numbers of the local zone
// are given by the front end's own kernel. The guard is never given: it is the way
// that the front end's allocation cursor can still go before it is put back. The
// node zone is granted to nodes by the master in blocks ([Allocator]): each node has
// one at its home, a part of the zone that no other node ever gets, and more of the
// pool when it needs them. A node's kernel gives numbers in a row, beginning at its
// cursor, and skips those in use; the slave moves the cursor on in good time ([Cursor]).
// The gap behind a block, a third of it, belongs to it: what the kernel gives there before
// the cursor has been moved is the same node's and nobody else's.
//
// No operation of an Allocator costs more where there are more nodes, but for the depth of a
// tree.
//
// The package has no I/O, no goroutines and no clock. An Allocator belongs to the
// master's core, a Cursor to the slave's recorder; neither locks.
package pidmap

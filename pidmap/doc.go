// Package pidmap is the bookkeeping of process numbers: which kernel may give which.
//
//	1                 2^20-2^16     2^20                                    2^22
//	+-----------------+-------------+---------------+------+------+------+--
//	| local zone      | guard       | pool          | home | home | home | ...
//	+-----------------+-------------+---------------+------+------+------+--
//	  front end's kernel              by demand       A      B      C
//
// The kernel that sees a process first chooses its number. The front end's own kernel gives the
// numbers of the local zone. The guard is how far its allocation cursor can go until it is put back; no process
// of the cluster gets a number there from a node, but init's own helpers on nodes have such numbers. The master grants the node zone to nodes in blocks
// ([Allocator]): each node has one at its home, a part of the zone that no other node ever gets,
// and more of the pool when it needs them. A node's kernel gives numbers in a row, beginning at its
// cursor, and skips those in use; the slave moves the cursor on in time ([Cursor]). The gap behind
// a block, a third of it, belongs to the block: numbers that the kernel gives there before the
// cursor has been moved are that node's and no other's.
//
// No operation of an Allocator costs more with more nodes, but for the depth of a tree.
//
// The package has no I/O, no goroutines and no clock, and takes no locks. An Allocator belongs to the
// master's core, a Cursor to the slave, whose slave/numbers.go locks it.
package pidmap

// Package stdio carries the standard descriptors of processes that were started from the
// front end: between the pipes of a process, which its init gets from here, and the stream to
// its client.
//
//	client --stream--> Client --> input --> journal, pipe --> process
//	client <--stream-- Client <-- output <-- journal <-- pipe <-- process
//
// Descriptors live longer than a stream, which ends with its session and is followed by
// another ([Descriptors.Attach]), and longer than the daemon: the journal keeps the bytes, and
// who keeps descriptors open beyond the daemon keeps the pipes ([Table.Resume]).
//
// Locks: that of a table, that of the descriptors of a process, that of an input or an output,
// in this order.
package stdio

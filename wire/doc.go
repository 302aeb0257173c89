// Package wire is what the parts of bproc say to each other: frames, message
// types and the rules that every receiver checks before it decodes anything.
//
// A connection carries frames, one after the other. A frame is a fixed header
// and a payload of a declared length. The payload is either a message, encoded
// with msgpack as an array, or, for the descriptors of a process, plain bytes.
//
//	 0        2        4                8                               16
//	+--------+--------+----------------+--------------------------------+--------
//	|  type  | 0      | payload length | number                         | payload
//	+--------+--------+----------------+--------------------------------+--------
//
// All integers are little-endian. The number is the request's, copied into its
// answer; in data that comes from a node it is the number of the last process
// event of that node before the data was read (see [Events]).
//
// The same frames run on every connection: client and master (a unix socket
// for each request or process), master and keeper, slave and the init of its
// process space, and on the streams between master and slave, which package
// wire/link carries over the network.
//
// The package imports nothing of bproc, does no I/O but on the reader or writer
// it is given, and starts no goroutines. PROTOCOL.md beside it is normative.
package wire

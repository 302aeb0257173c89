// Package wire defines how the parts of bproc communicate: frames, message types, and the checks
// that every receiver makes before it decodes.
//
// A connection carries a sequence of frames. A frame is a fixed header and a payload of a declared
// length. The payload is either a message, encoded with msgpack as an array, or plain bytes for the
// descriptors of a process.
//
//	 0        2        4                8                               16
//	+--------+--------+----------------+--------------------------------+--------
//	|  type  | 0      | payload length | number                         | payload
//	+--------+--------+----------------+--------------------------------+--------
//
// All integers are little-endian. The number of a request is copied into its answer; in data from a
// node it is the number of the node's last process event before the data was read (see [Events]).
//
// The same frames are used on every connection: client and master (a unix socket for each request
// or process), master and keeper, slave and the init of its process space, and on the streams
// between master and slave, which package wire/link carries over the network.
//
// The package imports nothing of bproc, does I/O only on a given reader or writer, and starts no
// goroutines. PROTOCOL.md beside it is normative.
package wire

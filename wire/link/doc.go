// Package link is the network between the master and its slaves: who is at the
// other end, and streams of bytes that survive the loss of a connection.
//
// From below:
//
//	net.TCPConn
//	batch        few large reads and writes instead of many of TLS
//	tls.Conn     TLS 1.3, both ends proved
//	conn         records: data, acknowledgements, which are the signs of life
//	link         a stream of bytes that goes on over the next connection
//	yamux        streams
//	Session      a link with its streams, as the daemons see it
//
// A slave gets its Identity by Join, with a token of the master's Authority. It keeps
// that in a file; the master keeps its key, and of tokens their hashes, in [Records].
// It then dials, and dials again when the connection is lost; [Inquire] only asks
// what the master is. A Listener
// matches connections with sessions. What goes over the network is described in
// ../PROTOCOL.md.
//
// # Goroutines
//
// On the slave Session.Run owns all of a session. On the master it owns yamux,
// and Listener.Run owns those that open connections, one that watches all of them, and one for
// each that was lost, to its end.
// The reader of a connection is the reading goroutine of
// yamux: it takes bytes, through link.Read, straight from TLS, and deals with
// acknowledgements on the way. On a slave that goroutine waits for nobody else: yamux
// makes its readers wait by windows, and it writes only to reset a stream, when
// more streams are opened than the backlog holds, which the opening side
// prevents. On the master it answers signs of life, too, and may wait until the slave reads.
//
// Bytes are written by the sending goroutine of yamux itself when they are few
// and nobody else writes, which saves a change of goroutines for each small
// message, and by the writer of the connection otherwise, a goroutine that there is only
// while it has something to write. link.writing says
// that somebody does.
//
// A master has thousands of links, most of them idle: each has two goroutines of yamux and that of
// Session.Serve, and no timer.
//
// # Locks
//
// Session.opening, then link.reading, then link.mu or Listener.mu, which are
// never held together. Nothing blocks under these two. Session.mu is a leaf.
//
// # What this package does not do
//
// It does not decide when a lease has run out: that is for those who know what
// is at stake (Session.LastHeard on the slave, Session.Connected on the
// master). It does not know what is said on the streams.
package link

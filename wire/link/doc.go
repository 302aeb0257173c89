// Package link is the network between the master and its slaves: authentication, and streams of
// bytes that survive the loss of a connection.
//
// The layers, from below:
//
//	net.TCPConn
//	batch        combines TLS's many small writes into few large ones
//	tls.Conn     TLS 1.3, both ends authenticated
//	conn         records: data, acknowledgements, which are the signs of life
//	link         a stream of bytes that goes on over the next connection
//	yamux        streams
//	Session      a link with its streams, as the daemons see it
//
// A slave gets its Identity by Join, with a token of the master's Authority, and keeps it in a
// file. The master keeps its key, and the hashes of tokens, in [Records]. The slave then dials, and
// dials again when the connection is lost; [Inquire] only asks for the master's description. A
// Listener matches connections with sessions. ../PROTOCOL.md describes the bytes on the network.
//
// # Goroutines
//
// On the slave, Session.Run owns all goroutines of a session. On the master it owns those of yamux,
// and Listener.Run owns those that open connections, one that watches all of them, and one for each
// lost connection, until that has ended. The reader of a connection is the reading goroutine of
// yamux: it takes bytes, through link.Read, straight from TLS, and handles acknowledgements on the
// way. On a slave that goroutine waits for no other: yamux's windows make its readers wait, and it
// writes only to reset a stream when more streams are opened than the backlog holds, which the
// opening side prevents. On the master it also answers signs of life, and may wait until the slave
// reads.
//
// The sending goroutine of yamux itself writes small amounts if no other goroutine writes, which
// saves a goroutine switch for each small message. Otherwise the writer of the connection writes, a
// goroutine that exists only while there is something to write. link.writing is set while one of
// them writes.
//
// Some frames are late (frameheads.go), because nobody waits for them: the acceptance of a stream, the end of a
// stream that is not used any more, and the bytes of WriteLate. They are sent with the next bytes of the link, or after
// 20 ms. A short command has as many late frames as others, and each would wake the other side.
//
// A master has thousands of links, most of them idle. Each has two goroutines of yamux and that of
// Session.Serve, and no timer, except while something is late.
//
// # Locks
//
// Session.opening comes first, then link.reading, then link.mu or Listener.mu, which are never held
// together. No code blocks with these two held. Session.mu is a leaf.
//
// # What this package does not do
//
// It does not decide when a lease has run out; its callers do (by Session.LastHeard on the slave,
// and Session.Connected on the master). It does not know the content of the streams.
package link

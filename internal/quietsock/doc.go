// Package quietsock has connections of unix(7) that wake their program only when there is
// something to read.
//
// The runtime's poller asks epoll(7) for both directions of every socket. On a unix socket
// the kernel reports room for writing each time the other end has read something
// (unix_write_space in net/unix/af_unix.c), so every message wakes its sender once
// more, for nothing: a thread, two switches of context and some ten microseconds. A [Conn]
// has an epoll instance of its own that asks for reading alone, and the runtime's
// poller watches that instance. Sockets of TCP do not need this: they report room only
// after a write that found none.
//
// It is for connections that live long and carry small messages both ways. A write
// that finds no room keeps a thread until there is some.
package quietsock

// Package quietsock has connections of unix(7) that wake their program only when there is something
// to read.
//
// The runtime's poller watches both directions of every socket by epoll(7). On a unix socket the
// kernel reports room for writing each time the other end has read something (unix_write_space in
// net/unix/af_unix.c). So every message wakes its sender once more, for nothing, which costs two
// context switches and some ten microseconds. A [Conn] has its own epoll instance, which watches
// for reading alone, and the runtime's poller watches that instance. TCP sockets do not need this:
// they report room only after a write that found none.
//
// It is for long-lived connections with small messages in both directions. A write that finds no
// room blocks a thread until there is some.
package quietsock

// Package agent is the part of a copy that one machine has. There is an agent on every machine
// that takes part: one reads the files (package source), and they all pass the stream on along a
// tree, and write the files (package target).
//
//	 bpcp on the front end                    node 0         node 2
//	+----------------------+                 +-------+      +-------+
//	|  session    agent ===|== TLS ==========> agent ==TLS==> agent |
//	|     |         |      |                 +---^---+      +---^---+
//	|     +---------+      |                     |              |
//	|     |                |                     |              |
//	|     +----------------|-- standard input ---+--------------+
//	+----------------------+      and output
//
// The session (package cmd/internal/bpcp) starts the agents of nodes as remote processes, with the
// program's user, and tells each by messages what it is to do:
//
//	session                        agent
//	   | Setup ---------------------->|  opens the target, listens
//	   |<---------------------- Ready |
//	   | Connect -------------------->|  connects to its children in the tree
//	   |<------------------ Connected |
//	   | Start ---------------------->|  the stream begins
//	   |<--- Problem, Progress, Total |
//	   | Drop ----------------------->|  a child is gone: go on without it
//	   |<-------------------- Stalled |  a child, or its own target, takes nothing and was dropped
//	   |<----------------------- Done |
//
// A connection between agents is TLS 1.3, proved at both ends by a certificate that is made for
// this copy alone; agents get it, with its key, in Setup, by the way that is authenticated already.
// Where a connection cannot be made, the session carries the stream in messages (Data), of which
// few are under way at a time: the receiver says what it has Taken. So a message is never held
// up by data that nobody reads.
//
// Whoever is part of a copy has its certificate, and passes on what others get: so the stream is sealed
// (seal.go). The session gives the key for that to the agent alone that sends files, and what opens the seal to
// all others. A receiver whose stream was changed on its way says that it broke off, and gets it again without those
// that have it.
//
// An agent reads no stream that it passes on. Its own target gets the same pieces as its children
// (hub). A child that breaks, or a target that is full, does not hold the others up, nor does for long one
// that takes nothing (stall.go). If what an
// agent gets breaks off, it ends its connections the same way, discards what is not whole, and says
// so in Done.
//
// Goroutines: one reads messages, one reads the stream, and each outlet of the hub has one. They
// end with the context, which is cancelled when the session is gone.
package agent

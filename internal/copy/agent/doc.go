// Package agent is the part of a copy that runs on one machine. Every machine that takes part has
// an agent. One agent reads the files (package source). All agents pass the stream on along a tree
// and write the files (package target).
//
//	 bpcp on the front end                    node 0         node 2
//	+----------------------+                 +-------+      +-------+
//	|  transfer   agent ===|== TLS ==========> agent ==TLS==> agent |
//	|     |         |      |                 +---^---+      +---^---+
//	|     +---------+      |                     |              |
//	|     |                |                     |              |
//	|     +----------------|-- standard input ---+--------------+
//	+----------------------+      and output
//
// The transfer (package cmd/internal/bpcp) starts the agents of nodes as remote processes of the
// user of bpcp, and controls them by messages:
//
//	transfer                       agent
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
// A connection between agents is TLS 1.3. Both ends prove their identity by a certificate that is
// made for this copy alone. Agents get it, with its key, in Setup, over a channel that is already
// authenticated. Where agents cannot connect, the transfer carries the stream in messages (Data;
// called FromSession in Start). The sender limits the unacknowledged bytes, and the receiver
// acknowledges them by Taken. So a message never waits behind data that is not read.
//
// Every agent of a copy has its certificate, and passes on the stream to others. So the stream is
// sealed (seal.go): only the sending agent has the key to seal it, and all others have the key to
// open it. A receiver whose stream was changed on the way reports that the stream broke off, and
// gets it again without the agents that already have it.
//
// An agent does not parse the stream that it passes on. Its own target gets the same pieces as its
// children (hub). A broken child or a full target does not hold up the others, nor, for long, does
// one that takes nothing (stall.go). If the incoming stream breaks off, an agent breaks off its
// outgoing streams, discards incomplete files, and says so in Done.
//
// Goroutines: one reads messages, one reads the stream, and each outlet of the hub has one. They
// end with the context, which is cancelled when the transfer has ended.
package agent

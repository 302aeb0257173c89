// Package bpcp is the command bpcp: it copies files to, from and between nodes.
//
// For every machine with files to copy there is a transfer. It starts an agent (package
// internal/copy/agent) on each machine that takes part, arranges them as a tree, and listens to what
// they say until all are done. Machines that lost the stream because another one failed are served
// by a transfer of their own afterwards; so is each that has held others up.
//
//	operand   SRC and DST of the command line
//	plan      which transfers that makes
//	member    an agent, as the transfer knows it
//	transfer  the agents of one source, to their end
//	meter     the progress on a terminal
//
// Goroutines: a transfer has one, which alone changes its members, and one for each member that
// reads its messages and passes them to the transfer; parts of the stream it passes on by itself.
package bpcp

// Package bpcp implements the command bpcp: it copies files to, from and between nodes.
//
// Every machine with files to copy has a transfer. The transfer starts an agent (package
// internal/copy/agent) on each machine that takes part, arranges the agents as a tree, and handles
// their messages until all are done. Machines that lost the stream because another one failed are
// served by another transfer afterwards, and so is each machine that has held up others.
//
//	operand   SRC and DST of the command line
//	plan      the transfers that follow from the operands
//	member    an agent, as the transfer knows it
//	transfer  the agents of one source, to their end
//	meter     the progress on a terminal
//
// Goroutines: a transfer has one, which alone changes its members, and one for each member, which
// reads the member's messages and hands them to the transfer. The latter passes parts of the stream
// on by itself.
package bpcp

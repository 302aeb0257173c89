// Package journal keeps what a slave daemon must not lose when it dies, in memory that
// outlives it: a memfd of which the init of the process space has a descriptor.
//
//	header      what the file is
//	log         what is known of all processes, and what the front end was told of them
//	slot 0      of one process: facts, input, standard output, standard error
//	slot 1 ...
//
// A [Slot] goes with three pipes, the movers, which the daemon alone uses and init keeps
// too. Bytes are always in the pipe of the process, in a mover, or in the slot, and the
// words of the slot together with the number of bytes in the mover (FIONREAD) say which
// are where, at whatever moment the daemon is killed:
//
//	process --> pipe --splice--> mover --read--> ring of the slot --> master
//	master  --write--> mover --splice--> pipe --> process
//
// The ring holds exactly the bytes that the client has not acknowledged.
//
// Memory is shared by two daemons only one after the other. The next takes nothing on
// trust: what no daemon can have left is ErrCorrupt.
//
// An [Output] and an [Input] belong to one goroutine each, but for Take and the methods
// that read.
package journal

// Package core is the state machine of the slave: what the front end knows of this node's processes
// and is still to be told, and all that the daemon decides by that.
//
// [Core.Step] takes one [Input] and returns the [Output]s that follow from it, as master/core
// does: there is no goroutine, lock, channel, clock, file or system call inside, and nothing is
// kept that could not be printed. So the same inputs lead to the same outputs, always, and
// the transcripts in testdata are complete.
//
//	events.go     what the front end was told, until it is done with it; known.go: of each process
//	journal.go    the same for the next daemon; records.go: how it is written
//	session.go    sessions with the master: what is told again when one begins; system calls that the front end carries out
//	launch.go     processes that the front end starts; takeover.go: those that a former daemon has left
//	signals.go    signals of the front end; groupsignals.go: those that have missed processes
//	backlog.go    how far the front end is behind: births are held back, or all processes
//	lease.go      how long processes live without word from the master
//
// Events come with their numbers ([Told]): which of the kernel's records are worth an event, and when
// it is told, procevents.Tracker knows. The front end says up to which it is done with them, and they
// take effect on what is known then; in the next session it is told the others again, after an inventory
// of what is known. The journal has the same, so for the front end it makes no difference whether a
// session ends or the daemon does.
package core

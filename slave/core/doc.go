// Package core is the state machine of the slave: what the front end knows of this node's
// processes, what must still be reported to it, and everything that the daemon decides from that.
//
// [Core.Step] takes one [Input] and returns the [Output]s that follow from it, as in master/core.
// Inside there is no goroutine, lock, channel, clock, file or system call, and all state can be
// printed. So the same inputs always lead to the same outputs, and the transcripts in testdata are
// complete.
//
//	events.go     events reported to the front end, until it is done with them; known.go: of each process
//	journal.go    the same for the next daemon; records.go: how it is written
//	session.go    sessions with the master: what is sent again when one begins; system calls that the front end carries out
//	launch.go     processes that the front end starts; takeover.go: processes that a former daemon has left
//	signals.go    signals of the front end; groupsignals.go: signals that have missed processes
//	backlog.go    how far the front end is behind: births are held back, or all processes
//	lease.go      how long processes live without word from the master
//
// Events come with their numbers ([Told]): procevents.Tracker decides which of the kernel's records
// are worth an event, and when it is reported. The front end confirms the events that it is done
// with, and only then do they take effect on what is known. The next session begins with an
// inventory of what is known and repeats the other events. The journal has the same content, so for
// the front end it makes no difference whether a session ends or the daemon does.
package core

// Package life is the life of a process of a job, from its first start on: a state machine without
// I/O. [Process.Step] takes an [Input] and its time, and returns the resulting [Output]s. The same
// inputs at the same times lead to the same outputs. The persistent state of a process is a
// [Record].
//
//	                 created
//	                    |  start
//	                    v    start-failed
//	   +------------ starting ------------> failed
//	   |  stop          |  started            ^
//	   |                v                     |  failed
//	   |             running -----------------+
//	   |  stop          |  |                  |  finished
//	   +<---------------+  |                  v
//	   v                   |  restart-wait  finished
//	stopping               v
//	   |               restart wait ---- restart ----> starting
//	   |  stopped          |
//	   v                   |  stopped
//	stopped <--------------+
//
// Start leads from created, stopped, finished, failed and restart wait to starting. These are all
// transitions, each with its event (table.go):
//
//	created       start         starting
//	starting      stop          stopping
//	starting      started       running
//	starting      start-failed  failed
//	starting      restart-wait  restart wait
//	running       stop          stopping
//	running       finished      finished
//	running       failed        failed
//	running       restart-wait  restart wait
//	stopping      stopped       stopped
//	stopping      restarted     starting
//	stopped       start         starting
//	finished      start         starting
//	failed        start         starting
//	restart wait  start         starting
//	restart wait  restart       starting
//	restart wait  stopped       stopped
//
// A *run* is one try to have the process: its hook, and then the process itself. Runs are numbered.
// Inputs about other runs than the last are outdated and ignored. A new run begins only when the
// last one is over, so there are never two copies of a process.
//
// A [Rule] says after which ends there is another run. There is none after a [Stop], nor after a
// failed start that a user asked for: the user is told. The delays before restarts double up to a
// maximum. They start over after a run that was at least as long as the maximum.
//
// A shutdown is TERM or INT, then QUIT, then KILL (shutdown.go).
package life

// Package life is the life of a process of a job, from its first start on: a state machine without
// I/O. [Process.Step] takes one [Input], which comes at a time, and returns the [Output]s that follow
// from it. The same inputs at the same times lead to the same outputs. What a process must not
// forget is a [Record].
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
// Start leads from created, stopped, finished, failed and restart wait to starting.
// All transitions, each with the one event that is told of it (table.go):
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
// A *run* is one try to have the process: its hook, and then the process itself. Runs are numbered. What is
// told of another run than the last is old and ignored. There is no new run before the last one
// is over, so there are no two copies of a process at a time.
//
// A [Rule] says after which end there is another run. What was asked for with [Stop] has no next run,
// nor has a start that was asked for and failed: the user is told. The waits before
// restarts double up to a longest one, and begin anew after a run that was as long as that.
//
// A shutdown is TERM or INT, then QUIT, then KILL (shutdown.go).
package life

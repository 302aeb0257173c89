// Package place is where jobs are on the front end: their files, and what is known of their processes.
// All is below one root, [spec.DefaultRoot] or what the environment says.
//
//	jobs/JOB/config/bpm.yml          the job file
//	sys/run/bpm/JOB/PROCESS.pid      the number of the process, while it runs
//	sys/run/bpm/JOB/PROCESS.json     what is known of it (Record)
//	sys/run/bpm/JOB/PROCESS.lock     locked by its supervisor as long as that lives
//	sys/run/bpm/JOB/PROCESS.request  locked by who starts or stops it
//	sys/run/bpm/JOB/.home            the node of the job, read-locked by all supervisors that have a process there
//	sys/run/bpm/JOB/.choice          locked by who chooses it
//	sys/log/JOB/PROCESS.stdout.log   what it says, and .stderr.log; .1, .2 and so on are former ones (Log)
//	sys/log/JOB/bpm.log              events, one JSON object in a line
//
// The locks are those of open file descriptions (F_OFD_SETLK, fcntl(2)): the kernel lets
// them go when who has them ends, however that is, and whether one is held can be asked without taking it.
// Requests for a process come one after the other: who waits for a lock gets it in turn. A lock for reading keeps those for
// writing waiting, and needs no more than the right to read: so the files of locks are root's alone.
package place

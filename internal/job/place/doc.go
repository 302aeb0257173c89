// Package place is the place of jobs on the front end: their files, and the records of their
// processes. All of it is below one root, [spec.DefaultRoot] or the one that the environment names.
//
//	jobs/JOB/config/bpm.yml          the job file
//	sys/run/bpm/JOB/PROCESS.pid      the number of the process, while it runs
//	sys/run/bpm/JOB/PROCESS.json     its record (Record)
//	sys/run/bpm/JOB/PROCESS.lock     locked by its supervisor while that lives
//	sys/run/bpm/JOB/PROCESS.request  locked by the command that starts or stops it
//	sys/run/bpm/JOB/.home            the node of the job, read-locked by all supervisors with a process there
//	sys/run/bpm/JOB/.choice          locked by the supervisor that chooses the node
//	sys/log/JOB/PROCESS.stdout.log   its output, and .stderr.log; .1, .2 and so on are former logs (Log)
//	sys/log/JOB/bpm.log              events, one JSON object per line
//
// The locks belong to open file descriptions (F_OFD_SETLK, fcntl(2)). The kernel releases them
// whenever their holder ends, and a test for a lock does not take it. Requests for a process are
// carried out one after the other, since waiters get a lock in turn. A read lock blocks write locks
// and needs only permission to read, so the lock files are accessible to root alone.
package place

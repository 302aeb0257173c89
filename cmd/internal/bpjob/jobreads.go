package bpjob

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"bproc/internal/job/file"
	"bproc/internal/job/place"
)

// jobReads reads the files of all jobs, whose directories are those of users: one can be on a file
// system that does not answer. A job whose file cannot be read in time is late. Its file is then
// read to the end, and meanwhile not again.
type jobReads struct {
	read func(place.Job) (*file.Job, uint32, error)

	mu    sync.Mutex
	under map[place.Job]chan jobRead // reads that are under way
	since time.Time                  // of this pass over all jobs
}

type jobRead struct {
	job   *file.Job
	owner uint32
	err   error
}

// readTime is how long files may take, all of a pass together; afterwards each may take lateTime.
const (
	readTime = 2 * time.Second
	lateTime = 20 * time.Millisecond
)

var errLate = errors.New("its file system does not answer")

func newJobReads() *jobReads {
	return &jobReads{read: read, under: make(map[place.Job]chan jobRead)}
}

// pass begins a pass over all jobs.
func (r *jobReads) pass() { r.since = time.Now() }

// inTime returns a job file and its owner.
func (r *jobReads) inTime(j place.Job) (*file.Job, uint32, error) {
	answer := r.begin(j)
	timer := time.NewTimer(max(readTime-time.Since(r.since), lateTime))
	defer timer.Stop()
	select {
	case got := <-answer:
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.under, j)
		return got.job, got.owner, got.err
	case <-timer.C:
		return nil, 0, fmt.Errorf("job file %s: %w", j.File(), errLate)
	}
}

// begin begins to read a job file, unless that is under way.
func (r *jobReads) begin(j place.Job) <-chan jobRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.under[j]
	if answer == nil {
		answer = make(chan jobRead, 1)
		r.under[j] = answer
		go func() { // it ends when the file system answers
			job, owner, err := r.read(j)
			answer <- jobRead{job, owner, err}
		}()
	}
	return answer
}

package bpjob

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bproc/internal/job/file"
	"bproc/internal/job/place"
)

// TestJobReads has the file systems of some jobs not answer. All others are read all the same.
func TestJobReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		var begun atomic.Int32
		r := newJobReads()
		r.read = func(j place.Job) (*file.Job, uint32, error) {
			if j.Name != "good" {
				begun.Add(1)
				<-answer
			}
			return new(file.Job), 1000, nil
		}
		pass := func(want error) {
			t.Helper()
			begin := time.Now()
			r.pass()
			for _, name := range []string{"stuck", "stuck too", "stuck as well"} {
				if _, _, err := r.inTime(place.Job{Name: name}); !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", name, err, want)
				}
				if job, owner, err := r.inTime(place.Job{Name: "good"}); job == nil || owner != 1000 || err != nil {
					t.Errorf("got %v, %d, %v", job, owner, err)
				}
			}
			if took := time.Since(begin); took > readTime+3*lateTime {
				t.Errorf("it takes %v", took)
			}
		}
		pass(errLate)
		pass(errLate)
		if n := begun.Load(); n != 3 {
			t.Errorf("files that cannot be read were begun %d times, want 3", n)
		}
		close(answer)
		synctest.Wait()
		pass(nil)
		if pass(nil); len(r.under) != 0 {
			t.Errorf("left: %v", r.under)
		}
	})
}

package bpsh

import (
	"errors"
	"testing"
	"time"
)

// TestTimeBeginsWithTheStart: the time of a command that waits for others to start begins after that.
func TestTimeBeginsWithTheStart(t *testing.T) {
	s := &session{starts: make(chan struct{}, 1), ending: ending{failed: make(chan struct{})}}
	close(s.ending.failed) // so that nothing is started
	s.starts <- struct{}{}
	j, ended := new(job), make(chan error, 1)
	go func() { ended <- s.start(t.Context(), j) }()
	time.Sleep(20 * time.Millisecond)
	free := time.Now()
	<-s.starts
	if err := <-ended; !errors.Is(err, errOther) {
		t.Errorf("got %v", err)
	}
	if j.began.Before(free) {
		t.Errorf("it has begun %v before it could", free.Sub(j.began))
	}
}

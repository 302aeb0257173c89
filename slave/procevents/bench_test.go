package procevents_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bproc/slave/procevents"
)

// BenchmarkFork measures fork, exit and wait of a shell: without a Source, watched
// by one with its reader at work, and beside a space that is watched, or beside 64
// of them.
func BenchmarkFork(b *testing.B) {
	loop := func(n int) string {
		return fmt.Sprintf("n=%d; while [ $n -gt 0 ]; do (:); n=$((n-1)); done", n)
	}
	b.Run("unwatched", func(b *testing.B) {
		s := newSpace(b)
		b.ResetTimer()
		s.run(loop(b.N))
	})
	b.Run("watched", func(b *testing.B) {
		s := newSpace(b)
		source := s.open(procevents.Config{})
		wakeups := read(b, source)
		b.ResetTimer()
		s.run(loop(b.N))
		b.StopTimer()
		b.ReportMetric(float64(wakeups())/b.Elapsed().Seconds(), "wakeups/s")
		b.ReportMetric(float64(source.Lost()), "lost")
	})
	for _, spaces := range []int{1, 64} {
		b.Run(fmt.Sprintf("outside of %d", spaces), func(b *testing.B) {
			s := newSpace(b)
			for range spaces {
				read(b, s.open(procevents.Config{Ring: 64 << 10}))
			}
			b.ResetTimer()
			if out, err := exec.Command("sh", "-c", loop(b.N)).CombinedOutput(); err != nil {
				b.Fatal(err, strings.TrimSpace(string(out)))
			}
		})
	}
}

// read runs a slave's reader until the benchmark ends, and returns how to end it and
// learn how often it woke up.
func read(b *testing.B, source *procevents.Source) func() int {
	ctx, cancel := context.WithCancel(context.Background())
	wakeups, done := 0, make(chan struct{})
	tracker := procevents.NewTracker(procevents.DefaultHold, noArgv)
	go func() {
		defer close(done)
		for source.Wait(ctx) == nil {
			wakeups++
			now := time.Now()
			source.Drain(func(r procevents.Record) { tracker.Record(r, now) })
			tracker.Flush(false, now)
		}
	}()
	stop := func() int {
		cancel()
		<-done
		return wakeups
	}
	b.Cleanup(func() { stop() })
	return stop
}

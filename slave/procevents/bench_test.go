package procevents_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
)

// BenchmarkFork measures fork, exit and wait of a shell: without a Source, watched by one whose
// reader is running, and beside a watched space, or 64 of them.
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

// BenchmarkSwitch measures two switches of context: a byte goes to another process on
// the same processor and comes back. Neither is in the space.
func BenchmarkSwitch(b *testing.B) {
	for _, spaces := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("beside %d spaces", spaces), func(b *testing.B) {
			for range spaces {
				read(b, newSpace(b).open(procevents.Config{Ring: 64 << 10}))
			}
			out, in := echo(b)
			at := uintptr(unsafe.Pointer(new(byte)))
			for b.Loop() {
				_, _, wrote := unix.RawSyscall(unix.SYS_WRITE, uintptr(out), at, 1)
				_, _, got := unix.RawSyscall(unix.SYS_READ, uintptr(in), at, 1)
				if wrote != 0 || got != 0 {
					b.Fatal(wrote, got)
				}
			}
		})
	}
}

// echo starts a process that sends back each byte, and puts it and this thread on
// one processor.
func echo(b *testing.B) (out, in int) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the benchmark
	var before, one unix.CPUSet
	one.Set(0)
	if err := errors.Join(unix.SchedGetaffinity(0, &before), unix.SchedSetaffinity(0, &one)); err != nil {
		b.Fatal(err)
	}
	theirs, out := pipe()
	in, back := pipe()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"x", "echo"}, &syscall.ProcAttr{
		Files: []uintptr{uintptr(theirs), uintptr(back), 2},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, fd := range []int{theirs, back, in, out} {
			_ = unix.Close(fd) // which ends the other process
		}
		await(pid, 0)
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			b.Error(err)
		}
	})
	return out, in
}

// beEcho sends back what it reads.
func beEcho() {
	buf := []byte{0}
	at := uintptr(unsafe.Pointer(&buf[0]))
	for {
		if n, _, _ := unix.RawSyscall(unix.SYS_READ, 0, at, 1); n != 1 {
			return
		}
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, 1, at, 1)
	}
}

// read runs a slave's reader until the benchmark ends. The function that it returns ends the reader
// and returns the number of its wake-ups.
func read(b *testing.B, source *procevents.Source) func() int {
	ctx, cancel := context.WithCancel(context.Background())
	wakeups, done := 0, make(chan struct{})
	tracker := procevents.NewTracker(procevents.DefaultHold, noImage)
	go func() {
		defer close(done)
		for source.Wait(ctx, time.Time{}) == nil {
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

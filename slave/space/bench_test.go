package space_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// BenchmarkLaunch measures from the request to the answer that the program
// executes; the program's run is awaited outside the clock.
func BenchmarkLaunch(b *testing.B) {
	n := newNode(b)
	b.ResetTimer()
	for i := range b.N {
		sp := command(wire.PID(70000+i%900000), "/bin/true")
		n.mustLaunch(sp)
		b.StopTimer()
		n.awaitStatus(sp.PID, over)
		n.forgetStatuses()
		b.StartTimer()
	}
}

// BenchmarkLaunchAndExit measures from the request to the status.
func BenchmarkLaunchAndExit(b *testing.B) {
	n := newNode(b)
	b.ResetTimer()
	for i := range b.N {
		sp := command(wire.PID(70000+i%900000), "/bin/true")
		n.mustLaunch(sp)
		n.awaitStatus(sp.PID, over)
		n.forgetStatuses()
	}
}

// BenchmarkManyLaunches keeps 32 launches under way.
func BenchmarkManyLaunches(b *testing.B) {
	n := newNode(b)
	slots := make(chan struct{}, 32)
	b.ResetTimer()
	for i := range b.N {
		slots <- struct{}{}
		err := n.Launch(command(wire.PID(70000+i%900000), "/bin/true"), nil, nil, func(stage wire.Stage, errno unix.Errno) {
			if stage != 0 {
				b.Errorf("stage %d: %v", stage, errno)
			}
			<-slots
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
}

// BenchmarkGetppid reports what a call costs a process, in its own clock.
func BenchmarkGetppid(b *testing.B) {
	n := newNode(b)
	text, _ := n.output(command(70001, probe, "ppid-cost", strconv.Itoa(max(b.N, 1000))))
	ns, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ns, "ns/getppid")
}

// BenchmarkCreate measures making and destroying a space.
func BenchmarkCreate(b *testing.B) {
	for range b.N {
		start := time.Now()
		n := newNode(b)
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/create")
		if err := n.Destroy(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

package space_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// BenchmarkLaunch measures the time from the request to the answer that the program executes. The
// program's run is awaited outside the clock.
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

// BenchmarkLaunchAndExit measures the time from the request to the status.
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

// BenchmarkCall reports what a call costs a process, in its own clock.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct{ name, argv string }{
		{"not asked about", "getpgid 0"},
		{"answered by the daemon", "getppid"},
		{"of the space, gone on with", "kill 70000 0"},
		{"of a thread of the space, gone on with", "kill 1048576 0"},
		{"handed to the front end", "getsid 4000"},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := newNode(b)
			if err := n.SetCursor(1 << 20); err != nil {
				b.Fatal(err)
			}
			n.mustLaunch(command(70000, "sh", "-c", "sleep 1000; true"))
			argv := append([]string{probe, "cost", strconv.Itoa(max(b.N, 1000))}, strings.Fields(c.argv)...)
			text, _ := n.output(command(70001, argv...))
			ns, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(ns, "ns/call")
		})
	}
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

package pid1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bproc/wire"
)

// BenchmarkLaunch measures the time from the request to the answer that the program executes. The
// minimum is the time of an idle machine.
func BenchmarkLaunch(b *testing.B) {
	for _, c := range []struct {
		name  string
		place func(i int) (pgid, sid wire.PID)
	}{
		{"alone", func(int) (pgid, sid wire.PID) { return 0, 0 }},
		{"in a group", func(int) (pgid, sid wire.PID) { return 60001, 60000 }},
		{"leading a group", func(i int) (pgid, sid wire.PID) { return number(i), 60000 }},
		{"in a new group", func(i int) (pgid, sid wire.PID) { return wire.PID(1000 + i%50000), 60000 }},
		{"in a new session", func(i int) (pgid, sid wire.PID) { return wire.PID(1000 + i%50000), wire.PID(1000 + i%50000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSpace(b)
			took := make([]time.Duration, b.N)
			for i := range took {
				pgid, sid := c.place(i)
				sp := command(number(i), pgid, sid, "/bin/true")
				start := time.Now()
				s.launch(sp)
				took[i] = time.Since(start)
				s.awaitStatus(sp.PID, over)
			}
			slices.Sort(took)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took[0].Microseconds()), "us-least")
			b.ReportMetric(float64(took[b.N/2].Microseconds()), "us-median")
		})
	}
}

// number returns the number of a launch of a benchmark.
func number(i int) wire.PID { return wire.PID(70000 + i%900000) }

// BenchmarkStandins measures making the stand-ins of groups. It reports the memory of each, as the
// kernel counts it for all processes of the machine.
func BenchmarkStandins(b *testing.B) {
	s := newSpace(b)
	s.ask(&wire.InitGroup{SID: 60000, PGID: 60000})
	before := kernelMemory(b)
	for i := range b.N {
		if errno := s.ask(&wire.InitGroup{SID: 60000, PGID: wire.PID(1000 + i)}); errno != 0 {
			b.Fatal(errno)
		}
	}
	b.ReportMetric(float64(kernelMemory(b)-before)/float64(b.N), "bytes/standin")
}

// kernelMemory returns the memory that the kernel uses for itself, in bytes.
func kernelMemory(b *testing.B) (sum int) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", "meminfo"))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		switch fields[0] {
		case "Slab:", "KernelStack:", "PageTables:", "Percpu:":
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				b.Fatal(err)
			}
			sum += kib << 10
		}
	}
	return sum
}

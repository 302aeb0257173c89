package ghost

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// BenchmarkLife measures what a ghost of a short command costs: adoption, a
// signal and its report, the end until its parent has waited for it.
func BenchmarkLife(b *testing.B) {
	f := newFixture(b)
	var adopt, signal, exit time.Duration
	for b.Loop() {
		pid := start(b, 0, "true")
		t0 := time.Now()
		f.must(b, &wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid())})
		t1 := time.Now()
		if err := unix.Kill(int(pid), unix.SIGUSR1); err != nil {
			b.Fatal(err)
		}
		f.signal(b, pid)
		t2 := time.Now()
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: pid}); err != nil {
			b.Fatal(err)
		}
		var st unix.WaitStatus
		if _, err := unix.Wait4(int(pid), &st, 0, nil); err != nil {
			b.Fatal(err)
		}
		adopt, signal, exit = adopt+t1.Sub(t0), signal+t2.Sub(t1), exit+time.Since(t2)
	}
	b.ReportMetric(float64(adopt.Nanoseconds())/float64(b.N), "ns/adopt")
	b.ReportMetric(float64(signal.Nanoseconds())/float64(b.N), "ns/signal")
	b.ReportMetric(float64(exit.Nanoseconds())/float64(b.N), "ns/exit")
}

// BenchmarkFork measures a ghost for a process that was forked on a node.
func BenchmarkFork(b *testing.B) {
	f := newFixture(b)
	parent := f.ghost(b, 0, "sh")
	child := wire.PID(2000000)
	for b.Loop() {
		child++
		f.must(b, &wire.GhostFork{Parent: parent, Child: child})
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: child}); err != nil {
			b.Fatal(err)
		}
	}
	f.end(b, parent, 0)
}

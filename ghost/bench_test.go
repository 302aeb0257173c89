package ghost

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// BenchmarkLife measures a ghost of a short command: adoption, a signal and its report, and the end
// until its parent has waited for it.
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

// BenchmarkFork measures a ghost for a process that was forked on a node, has executed a program
// and has ended: its time, and its cost to the keeper.
func BenchmarkFork(b *testing.B) {
	f := newFixture(b)
	parent := f.ghost(b, 0, "sh")
	child := wire.PID(2000000)
	cpu, switches := f.cost(b)
	for b.Loop() {
		child++
		for _, m := range []wire.Message{&wire.GhostFork{Parent: parent, Child: child}, &wire.GhostExec{PID: child, Argv: []string{"cc", "-c", "a.c"}}} {
			f.tell(b, m)
		}
		f.must(b, &wire.GhostSync{PID: parent})
		f.tell(b, &wire.GhostExit{PID: child})
		f.gone(b, child)
	}
	cpuAfter, switchesAfter := f.cost(b)
	b.ReportMetric(float64(cpuAfter-cpu)*1e7/float64(b.N), "cpu-ns/op") // ticks of 10 ms
	b.ReportMetric(float64(switchesAfter-switches)/float64(b.N), "switches/op")
	f.end(b, parent, 0)
}

// cost returns the keeper's processor time so far in clock ticks, and how often it has waited
// (proc_pid_stat(5), proc_pid_status(5)).
func (f *fixture) cost(b *testing.B) (ticks, switches int) {
	b.Helper()
	pid := wire.PID(f.keeper.Process.Pid)
	for _, field := range []int{11, 12} {
		n, err := strconv.Atoi(statField(b, pid, field))
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, thread.Name()))
		if err != nil {
			b.Fatal(err)
		}
		var voluntary [1]uint64
		if err := statusField(text, "voluntary_ctxt_switches:", 10, voluntary[:]); err != nil {
			b.Fatal(err)
		}
		switches += int(voluntary[0])
	}
	return ticks, switches
}

// BenchmarkAdopt measures the processor time of a shard's thread for adopting a ghost that has come
// up.
func BenchmarkAdopt(b *testing.B) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(b)
	spent := time.Duration(0)
	for b.Loop() {
		pid := start(b, nobody, "g")
		eventually(b, "it comes up", func() bool { return callOf(b, pid) == waitCall })
		before := threadTime(b)
		err := s.adopt(&wire.GhostAdopt{PID: pid, Parent: wire.PID(os.Getpid()), UID: nobody})
		spent += threadTime(b) - before
		if err != nil {
			b.Fatal(err)
		}
		s.end(b, s.ghosts[pid], 0)
		wait(b, pid, 0)
		s.ghosts = map[wire.PID]*held{}
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/adopt")
}

func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return time.Duration(now.Nano())
}

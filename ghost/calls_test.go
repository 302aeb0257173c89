package ghost

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// expect waits for the report of a signal, and accepts no other one.
func (f *fixture) expect(t testing.TB, pid wire.PID, sig unix.Signal, from wire.PID, uid uint32) {
	t.Helper()
	got, info := f.signal(t, pid)
	if got != sig || info.sender() != from || info.uid() != uid {
		t.Errorf("ghost %d got signal %d from process %d of user %d, want %d from %d of %d", pid, got, info.sender(), info.uid(), sig, from, uid)
	}
}

func TestCall(t *testing.T) {
	f := newFixture(t)
	a, b, root := f.ghost(t, nobody, "a"), f.ghost(t, nobody, "b"), f.ghost(t, 0, "root")
	none := wire.PID(4000000)
	info := signalInfo(unix.Signal(40), siQueue)
	info.sentBy(a, nobody, 4711)
	lie, exit := signalInfo(unix.Signal(40), siUser), signalInfo(unix.Signal(40), unix.PTRACE_EVENT_EXIT<<8|int32(unix.SIGTRAP))
	for _, c := range []struct {
		name string
		m    wire.GhostCall
		want unix.Errno
		got  unix.Signal
	}{
		{"kill", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(b), int64(unix.SIGTERM)}}, 0, unix.SIGTERM},
		{"kill 0", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(b), 0}}, 0, 0},
		{"kill nobody", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(none), 15}}, unix.ESRCH, 0},
		{"kill no group", wire.GhostCall{Op: wire.CallKill, Args: []int64{-int64(none), 15}}, unix.ESRCH, 0},
		{"kill root's", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(root), 15}}, unix.EPERM, 0},
		{"no signal", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(b), 65}}, unix.EINVAL, 0},
		{"tgkill", wire.GhostCall{Op: wire.CallTgkill, Args: []int64{int64(b), int64(b), 10}}, 0, unix.SIGUSR1},
		{"tkill", wire.GhostCall{Op: wire.CallTgkill, Args: []int64{0, int64(b), 12}}, 0, unix.SIGUSR2},
		{"tgkill of another", wire.GhostCall{Op: wire.CallTgkill, Args: []int64{int64(a), int64(b), 10}}, unix.ESRCH, 0},
		{"sigqueue", wire.GhostCall{Op: wire.CallSigqueue, Args: []int64{int64(b), 40}, Info: info[:]}, 0, 40},
		{"tgsigqueue", wire.GhostCall{Op: wire.CallTgsigqueue, Args: []int64{int64(b), int64(b), 40}, Info: info[:]}, 0, 40},
		{"sigqueue as if kill", wire.GhostCall{Op: wire.CallSigqueue, Args: []int64{int64(b), 40}, Info: lie[:]}, unix.EPERM, 0},
		{"sigqueue as if at its exit", wire.GhostCall{Op: wire.CallSigqueue, Args: []int64{int64(a), 40}, Info: exit[:]}, unix.EPERM, 0},
		{"too few", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(b)}}, unix.EINVAL, 0},
		{"none", wire.GhostCall{Op: wire.CallTgkill}, unix.EINVAL, 0},
		{"too many", wire.GhostCall{Op: wire.CallKill, Args: make([]int64, 3)}, unix.EINVAL, 0},
		{"info too short", wire.GhostCall{Op: wire.CallSigqueue, Args: []int64{int64(b), 40}, Info: info[:127]}, unix.EINVAL, 0},
		{"info for kill", wire.GhostCall{Op: wire.CallKill, Args: []int64{int64(b), 15}, Info: info[:]}, unix.EINVAL, 0},
		{"another call", wire.GhostCall{Op: wire.CallGetppid}, unix.ENOSYS, 0},
	} {
		c.m.PID = a
		if got := f.ask(t, &c.m); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if c.got != 0 {
			f.expect(t, b, c.got, a, nobody)
		}
	}
	f.quiet(t)
	if got := f.ask(t, &wire.GhostCall{PID: none, Op: wire.CallKill, Args: []int64{int64(b), 15}}); got != unix.ESRCH {
		t.Errorf("a call of nobody: %v", got)
	}
	for _, pid := range []wire.PID{a, b, root} {
		f.end(t, pid, 0)
	}
}

// TestCallOfItself has ghosts signal themselves. The report precedes the answer.
func TestCallOfItself(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	peer := f.ghost(t, nobody, "p")
	f.must(t, &wire.GhostJoin{PID: pid, PGID: pid})
	f.must(t, &wire.GhostJoin{PID: peer, PGID: pid})
	for _, stopped := range []bool{false, true} {
		if stopped {
			f.stop(t, pid, unix.SIGTSTP)
		}
		for _, c := range []wire.GhostCall{
			{Op: wire.CallKill, Args: []int64{0, 15}},
			{Op: wire.CallKill, Args: []int64{-int64(pid), 15}},
			{Op: wire.CallKill, Args: []int64{-int64(pid), int64(unix.SIGCONT)}},
			{Op: wire.CallKill, Args: []int64{int64(pid), int64(unix.SIGCONT)}},
			{Op: wire.CallKill, Args: []int64{int64(pid), int64(unix.SIGTSTP)}},
			{Op: wire.CallTgkill, Args: []int64{int64(pid), int64(pid), 40}},
		} {
			c.PID = pid
			sig := unix.Signal(c.Args[len(c.Args)-1])
			f.must(t, &c)
			if !f.has(pid) {
				t.Errorf("%v: no report before the answer", c.Args)
			}
			f.expect(t, pid, sig, pid, nobody)
			if c.Args[0] <= 0 {
				f.expect(t, peer, sig, pid, nobody)
			}
		}
		f.quiet(t)
	}
	// SIGCONT has let it go on.
	eventually(t, "the ghost goes on", func() bool { return statField(t, pid, 0) == "S" })
	f.end(t, peer, 0)
	// Its own SIGKILL holds it in its exit.
	f.ask(t, &wire.GhostCall{PID: pid, Op: wire.CallKill, Args: []int64{0, int64(unix.SIGKILL)}})
	if !f.has(pid) {
		t.Error("no report of SIGKILL before the answer")
	}
	if got := f.ask(t, &wire.GhostCall{PID: pid, Op: wire.CallKill, Args: []int64{0, 15}}); got != unix.ESRCH {
		t.Errorf("a call of a ghost held in its exit: %v", got)
	}
	if st := f.end(t, pid, 0); st.Signal() != unix.SIGKILL {
		t.Errorf("status %#x", st)
	}
}

// TestSync checks that pending signals of ghosts are reported before the answer.
func TestSync(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for _, stopped := range []bool{false, true} {
		if stopped {
			f.stop(t, pid, unix.SIGTSTP)
		}
		f.must(t, &wire.GhostSync{PID: pid})
		f.quiet(t)
		for i := range 100 {
			if err := queueSignal(pid, unix.Signal(50), uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		f.must(t, &wire.GhostSync{PID: pid})
		for i := range 100 {
			if !f.has(pid) {
				t.Fatalf("signal %d is not reported before the answer", i)
			}
			if sig, info := f.signal(t, pid); sig != 50 || info.value() != uint64(i) {
				t.Fatalf("signal %d with value %d, want value %d", sig, info.value(), i)
			}
		}
	}
	eventually(t, "the ghost is stopped again", func() bool { s := statField(t, pid, 0); return s == "T" || s == "t" })
	if got := f.ask(t, &wire.GhostSync{PID: 4000000}); got != unix.ESRCH {
		t.Errorf("nobody has got nothing: %v", got)
	}
	f.end(t, pid, 0)
}

// TestCallInFlood has a ghost make a call during a flood of signals.
func TestCallInFlood(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	const count = 3 * maxHeard
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			err := queueSignal(pid, unix.Signal(50), uint64(i))
			for ; errors.Is(err, unix.EAGAIN); err = queueSignal(pid, unix.Signal(50), uint64(i)) {
				time.Sleep(time.Millisecond) // RLIMIT_SIGPENDING
			}
			if err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range 50 {
		f.must(t, &wire.GhostSync{PID: pid})
		f.must(t, &wire.GhostCall{PID: pid, Op: wire.CallKill, Args: []int64{int64(pid), 0}})
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if sig, info := f.signal(t, pid); sig != 50 || info.value() != uint64(i) {
			t.Fatalf("signal %d with value %d, want value %d", sig, info.value(), i)
		}
	}
	f.quiet(t)
	f.end(t, pid, 0)
}

// has reports whether a signal for a ghost has been reported.
func (f *fixture) has(pid wire.PID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if s, ok := e.msg.(*wire.GhostSignal); ok && s.PID == pid {
			return true
		}
	}
	return false
}

// quiet checks that no reports of signals are left.
func (f *fixture) quiet(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if s, ok := e.msg.(*wire.GhostSignal); ok {
			t.Errorf("ghost %d got %v", s.PID, (*siginfo)(s.Info).signal())
		}
	}
}

// BenchmarkCall measures a signal from one ghost to another until the master has the answer.
func BenchmarkCall(b *testing.B) {
	f := newFixture(b)
	from, to := f.ghost(b, 0, "from"), f.ghost(b, 0, "to")
	for b.Loop() {
		f.must(b, &wire.GhostCall{PID: from, Op: wire.CallKill, Args: []int64{int64(to), int64(unix.SIGUSR1)}})
	}
	f.end(b, from, 0)
	f.end(b, to, 0)
}

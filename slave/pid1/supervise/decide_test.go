package supervise

import (
	"context"
	"errors"
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
	"bproc/wire"
)

func TestDecide(t *testing.T) {
	const high = 1 << 32 // a bit that is not part of an int
	for _, c := range []struct {
		name string
		who  uint32
		call filter.Call
		args [6]uint64
		ret  *wire.Return // of the front end; nil: 0
		want string
	}{
		{"parent on the front end", shell, filter.Getppid, args(), nil, "4711"},
		{"parent in the space", child, filter.Getppid, args(), nil, "go on"},
		{"parent has ended", orphan, filter.Getppid, args(), &wire.Return{Value: 1}, "call 1 of 1048579: []; 1"},
		{"nobody's parent", 5, filter.Getppid, args(), nil, "go on"},

		{"group of one here", shell, filter.Getpgid, args(child), nil, "go on"},
		{"group of one started from the front end", child, filter.Getpgid, args(shell), nil, "go on"},
		{"group of one that was here", child, filter.Getpgid, args(gone), nil, "go on"},
		{"group of one far away", child, filter.Getpgid, args(faraway), &wire.Return{Value: 17}, "call 2 of 1048576: [1148576]; 17"},
		{"group of one on the front end", child, filter.Getpgid, args(outside), &wire.Return{Errno: uint32(unix.ESRCH)}, "call 2 of 1048576: [4711]; ESRCH"},
		{"group of nobody", child, filter.Getpgid, args(-3), nil, "go on"},
		{"session of one here", child, filter.Getsid, args(high | leader), nil, "go on"},
		{"session of init of the front end", child, filter.Getsid, args(1), &wire.Return{Value: 1}, "call 3 of 1048576: [1]; 1"},
		{"number of a helper of init", child, filter.Getsid, args(helper), nil, "call 3 of 1048576: [66]; 0"},

		{"no group", child, filter.Setpgid, args(0, -1), nil, "go on"},
		{"group of its own", child, filter.Setpgid, args(0, 0), nil, "regroups 1048576; go on"},
		{"group of its own by number", shell, filter.Setpgid, args(shell, shell), nil, "regroups 70001; go on"},
		{"group in which it is", child, filter.Setpgid, args(0, group), nil, "go on"},
		{"group of another here", worker, filter.Setpgid, args(0, child), nil, "regroups 1048578; go on"},
		{"child into a group of its own", shell, filter.Setpgid, args(child, child), nil, "regroups 1048576; go on"},
		{"child into the parent's group", shell, filter.Setpgid, args(other, group), nil, "regroups 1048582; go on"},
		{"child into a group of the front end, from a session made here", leader, filter.Setpgid, args(worker, group), nil, "call 8 of 1048577: [3001]; group 3001 in 1048577; regroups 1048578; go on"},
		{"child of another", child, filter.Setpgid, args(other, group), nil, "go on"},
		{"child into a group of the front end", shell, filter.Setpgid, args(child, 3007), nil, "call 8 of 70001: [3007]; group 3007 in 3000; regroups 1048576; go on"},
		{"child into a group of another session", shell, filter.Setpgid, args(child, 3007), &wire.Return{Errno: uint32(unix.EPERM)}, "call 8 of 70001: [3007]; EPERM"},
		{"child that is a program, into such a group", shell, filter.Setpgid, args(other, 3007), &wire.Return{Errno: uint32(unix.EPERM)}, "call 8 of 70001: [3007]; EACCES"},
		{"leader of a session", daemon, filter.Setpgid, args(0, 3007), nil, "go on"},
		{"group of one further in", inner, filter.Setpgid, args(0, 3), nil, "regroups 1048581; go on"},
		{"group of the front end", shell, filter.Setpgid, args(0, 3007), nil, "call 8 of 70001: [3007]; group 3007 in 3000; regroups 70001; go on"},
		{"group of another session", shell, filter.Setpgid, args(0, 3007), &wire.Return{Errno: uint32(unix.EPERM)}, "call 8 of 70001: [3007]; EPERM"},
		{"nobody into a group", shell, filter.Setpgid, args(faraway, 3007), nil, "go on"},
		{"session of its own", child, filter.Setsid, args(), nil, "regroups 1048576; go on"},
		{"session of one further in", inner, filter.Setsid, args(), nil, "regroups 1048581; go on"},

		{"signal to one here", shell, filter.Kill, args(child, 15), nil, "go on"},
		{"signal to a thread here", shell, filter.Kill, args(thread, 15), nil, "go on"},
		{"signal to one started from the front end", child, filter.Kill, args(shell, 9), nil, "go on"},
		{"signal to one that is being started", child, filter.Kill, args(coming, 9), nil, "call 4 of 1048576: [70003 9]; 0"},
		{"signal to one that was here", shell, filter.Kill, args(gone, 15), nil, "go on"},
		{"signal to one far away", child, filter.Kill, args(faraway, 15), nil, "call 4 of 1048576: [1148576 15]; 0"},
		{"signal to init", child, filter.Kill, args(1, 0), &wire.Return{Errno: uint32(unix.EPERM)}, "call 4 of 1048576: [1 0]; EPERM"},
		{"signal to a helper of init", child, filter.Kill, args(helper, 9), &wire.Return{Errno: uint32(unix.ESRCH)}, "call 4 of 1048576: [66 9]; ESRCH"},
		{"signal by a number with more bits", child, filter.Kill, args(high|1, high), nil, "call 4 of 1048576: [1 0]; 0"},
		{"no signal", child, filter.Kill, args(1, 65), &wire.Return{Errno: uint32(unix.EINVAL)}, "call 4 of 1048576: [1 65]; EINVAL"},
		{"no signal, to one here", child, filter.Kill, args(worker, 65), nil, "go on"},
		{"a negative signal", child, filter.Kill, args(1, -1), nil, "call 4 of 1048576: [1 -1]; 0"},
		{"signal by one further in", inner, filter.Kill, args(1, 9), nil, "go on"},
		{"least number", child, filter.Kill, args(math.MinInt32, 9), nil, "go on"},
		{"signal to the own group", child, filter.Kill, args(0, 15), nil, "call 4 of 1048576: [0 15]; sync; 0"},
		{"signal to the own group, made here", worker, filter.Kill, args(0, 15), nil, "go on"},
		{"signal to the own group, of one from the front end", daemon, filter.Kill, args(0, 15), nil, "go on"},
		{"signal to all", worker, filter.Kill, args(-1, 15), nil, "call 4 of 1048578: [-1 15]; sync; 0"},
		{"signal to a group of the front end", worker, filter.Kill, args(-group, 2), &wire.Return{Errno: uint32(unix.EPERM)}, "call 4 of 1048578: [-3001 2]; sync; EPERM"},
		{"signal to a group made here", shell, filter.Kill, args(-leader, 2), nil, "go on"},
		{"signal to a group whose leader is in another", shell, filter.Kill, args(-worker, 2), nil, "call 4 of 70001: [-1048578 2]; sync; 0"},
		{"signal to a group without a leader", shell, filter.Kill, args(-faraway, 2), nil, "call 4 of 70001: [-1148576 2]; sync; 0"},
		{"signal to the group of a session from the front end", shell, filter.Kill, args(-daemon, 2), nil, "go on"},

		{"signal to one here, of a job", jailed, filter.Kill, args(child, 15), nil, "go on"},
		{"signal to one elsewhere, of a job", jailed, filter.Kill, args(outside, 15), nil, "ESRCH"},
		{"signal to the own group, of a job", jailed, filter.Kill, args(0, 15), nil, "go on"},
		{"signal to another group, of a job", jailed, filter.Kill, args(-shell, 15), nil, "go on"},
		{"signal to all, of a job", jailed, filter.Kill, args(-1, 15), nil, "EPERM"},
		{"signal to a thread elsewhere, of a job", jailed, filter.Tgkill, args(outside, outside, 15), nil, "ESRCH"},
		{"signal with a value, of a job", jailed, filter.Sigqueue, args(outside, 15, 0), nil, "ESRCH"},
		{"descriptor of one elsewhere, of a job", jailed, filter.PidfdOpen, args(outside, 0), nil, "ESRCH"},
		{"group of one elsewhere, of a job", jailed, filter.Getpgid, args(outside), nil, "call 2 of 1048583: [4711]; 0"},

		{"signal to itself, which is being started", coming, filter.Kill, args(coming, 9), nil, "go on"},
		{"thread here", shell, filter.Tkill, args(thread, 10), nil, "go on"},
		{"thread elsewhere", shell, filter.Tkill, args(outside, 10), nil, "call 5 of 70001: [0 4711 10]; 0"},
		{"no thread", shell, filter.Tkill, args(0, 10), nil, "go on"},
		{"thread of one here", shell, filter.Tgkill, args(worker, thread, 10), nil, "go on"},
		{"thread that one here has not", shell, filter.Tgkill, args(worker, faraway, 10), nil, "go on"},
		{"thread of one elsewhere", shell, filter.Tgkill, args(outside, outside, 10), nil, "call 5 of 70001: [4711 4711 10]; 0"},
		{"thread of nobody", shell, filter.Tgkill, args(-1, outside, 10), nil, "go on"},
		{"thread, no signal", shell, filter.Tgkill, args(outside, outside, 65), nil, "call 5 of 70001: [4711 4711 65]; 0"},

		{"descriptor of one here", shell, filter.PidfdOpen, args(child, 0), nil, "go on"},
		{"descriptor of one elsewhere", shell, filter.PidfdOpen, args(outside, unix.PIDFD_NONBLOCK), nil, "call 10 of 70001: [4711 0]; shadow of 4711 for 1000 0x800; a descriptor"},
		{"descriptor of nobody", shell, filter.PidfdOpen, args(outside, 0), &wire.Return{Errno: uint32(unix.ESRCH)}, "call 10 of 70001: [4711 0]; ESRCH"},
		{"descriptor of a thread elsewhere", shell, filter.PidfdOpen, args(outside, unix.PIDFD_THREAD), nil, "call 9 of 70001: [4711]; EINVAL"},
		{"descriptor with unknown flags", shell, filter.PidfdOpen, args(outside, 1), nil, "go on"},
		{"descriptor of no number", shell, filter.PidfdOpen, args(0, 0), nil, "go on"},

		{"signal by a shadow's descriptor", shell, filter.PidfdSignal, args(3, 10, 0, 0), nil, "call 4 of 70001: [4711 10]; 0"},
		{"signal by it further in", inner, filter.PidfdSignal, args(3, 10, 0, 0), nil, "call 4 of 1048581: [4711 10]; 0"},
		{"signal by it to the whole process", shell, filter.PidfdSignal, args(3, 10, 0, 2), nil, "call 4 of 70001: [4711 10]; 0"},
		{"signal by it with other flags", shell, filter.PidfdSignal, args(3, 10, 0, 1), nil, "EINVAL"},
		{"signal by it with nothing to read", shell, filter.PidfdSignal, args(3, 10, 0x5000, 0), nil, "EFAULT"},
		{"signal by a descriptor of one here", shell, filter.PidfdSignal, args(4, 10, 0, 0), nil, "go on"},
		{"signal by a shadow's that is about to end", shell, filter.PidfdSignal, args(5, 10, 0, 0), nil, "ESRCH"},
		{"signal by another descriptor", shell, filter.PidfdSignal, args(9, 10, 0, 0), nil, "go on"},
		{"descriptors of one elsewhere", shell, filter.PidfdGetfd, args(3, 0, 0), nil, "EPERM"},
		{"descriptors of one here", shell, filter.PidfdGetfd, args(4, 0, 0), nil, "go on"},

		{"trace of one here", shell, filter.Ptrace, args(unix.PTRACE_SEIZE, child), nil, "go on"},
		{"trace of one elsewhere", shell, filter.Ptrace, args(unix.PTRACE_SEIZE, outside), nil, "call 9 of 70001: [4711]; EPERM"},
		{"trace of nobody", shell, filter.Ptrace, args(unix.PTRACE_ATTACH, helper), &wire.Return{Errno: uint32(unix.ESRCH)}, "call 9 of 70001: [66]; ESRCH"},
		{"trace of init", shell, filter.Ptrace, args(unix.PTRACE_ATTACH, 1), nil, "call 9 of 70001: [1]; EPERM"},

		{"adopts orphans", child, filter.Prctl, args(unix.PR_SET_CHILD_SUBREAPER, 1), nil, "reaper 1048576 true; go on"},
		{"adopts no orphans", child, filter.Prctl, args(unix.PR_SET_CHILD_SUBREAPER, 0), nil, "reaper 1048576 false; go on"},
		{"dies with its parent", shell, filter.Prctl, args(unix.PR_SET_PDEATHSIG, 9), nil, "death 70001 9; go on"},
		{"does not die with its parent", shell, filter.Prctl, args(unix.PR_SET_PDEATHSIG, 0), nil, "death 70001 0; go on"},
		{"dies with its parent by no signal", shell, filter.Prctl, args(unix.PR_SET_PDEATHSIG, high|9), nil, "go on"},
		{"dies with its parent here", child, filter.Prctl, args(unix.PR_SET_PDEATHSIG, 9), nil, "go on"},

		{"another user", child, filter.Credentials, args(1000), nil, "recredits 1048576; go on"},
		{"the user that it is", child, filter.Setresuid, args(-1, 0, -1), nil, "go on"},
		{"all users that it is", child, filter.Setresuid, args(1000, 0, 0), nil, "go on"},
		{"the user that it was", child, filter.Setresuid, args(-1, 1000, -1), nil, "recredits 1048576; go on"},
		{"a user it is otherwise", child, filter.Setresuid, args(0, 0, 0), nil, "recredits 1048576; go on"},
		{"no other group", child, filter.Setresgid, args(-1, -1, -1), nil, "go on"},
		{"another group", child, filter.Setresgid, args(-1, -1, 0), nil, "recredits 1048576; go on"},
		{"the same user further in", inner, filter.Setresuid, args(-1, 0, -1), nil, "recredits 1048581; go on"},
		{"another user further in", inner, filter.Credentials, args(1000), nil, "recredits 1048581; go on"},
		{"adopts orphans further in", inner, filter.Prctl, args(unix.PR_SET_CHILD_SUBREAPER, 1), nil, "reaper 1048581 true; go on"},
		{"parent further in", inner, filter.Getppid, args(), nil, "go on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMadeUp()
			if c.ret != nil {
				m.answer = c.ret
			}
			if got := m.decided(t, c.who, c.call, c.args); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Init, which has no front end to report to or to ask, leaves what needs one to the next daemon.
func TestWhatIsLeftToTheDaemon(t *testing.T) {
	for _, c := range []struct {
		name string
		call filter.Call
		args [6]uint64
		left bool
	}{
		{"parent on the front end", filter.Getppid, args(), false},
		{"session of one here", filter.Getsid, args(child), false},
		{"signal to one here", filter.Kill, args(child, 9), false},
		{"option that nobody has to know of", filter.Prctl, args(unix.PR_SET_NAME), false},
		{"session of one elsewhere", filter.Getsid, args(outside), true},
		{"signal to one elsewhere", filter.Kill, args(outside, 9), true},
		{"adopts orphans", filter.Prctl, args(unix.PR_SET_CHILD_SUBREAPER, 1), true},
		{"session of its own", filter.Setsid, args(), true},
		{"group of its own", filter.Setpgid, args(0, 0), true},
		{"other user", filter.Credentials, args(), true},
	} {
		m := newMadeUp()
		s := m.supervisor()
		s.alone = new(nowhere)
		s.frontEnd = s.alone
		for range 2 { // a decision does not affect the next
			call := &slot{notif: notif{ID: 1, PID: shell, Data: seccompData{Nr: number(t, c.call), Arch: filter.ABIs()[0].Arch, Args: c.args}}}
			if _, left := s.judge(call, &eyes{m, initOutside}); left != c.left {
				t.Errorf("%s: left %v, want %v", c.name, left, c.left)
			}
			s.alone.wanted = true
		}
	}
}

// The caller of a call about a process in the space is not looked up: the kernel decides it.
func TestCallerIsNotAskedFor(t *testing.T) {
	for _, call := range []filter.Call{
		filter.Getpgid, filter.Getsid, filter.Kill, filter.Tkill, filter.Tgkill,
		filter.Sigqueue, filter.Tgsigqueue, filter.PidfdOpen,
	} {
		m := newMadeUp()
		if got := m.decided(t, child, call, args(worker, worker)); got != "go on" || m.asked != 0 {
			t.Errorf("call %d: %q, and the caller was asked for %d times", call, got, m.asked)
		}
	}
}

// A stop of a terminal waits for groups that were just made; nothing else does.
func TestStopsWaitForGroups(t *testing.T) {
	for _, c := range []struct {
		name string
		call filter.Call
		args [6]uint64
		want string
	}{
		{"stop", filter.Kill, args(child, int64(unix.SIGTSTP)), "settle; go on"},
		{"stop of a thread", filter.Tkill, args(thread, int64(unix.SIGTTIN)), "settle; go on"},
		{"stop of a thread of a process", filter.Tgkill, args(worker, thread, int64(unix.SIGTTOU)), "settle; go on"},
		{"queued", filter.Sigqueue, args(child, int64(unix.SIGTSTP)), "settle; go on"},
		{"stop that nobody can ignore", filter.Kill, args(child, int64(unix.SIGSTOP)), "go on"},
		{"group", filter.Getpgid, args(child, int64(unix.SIGTSTP)), "go on"},
	} {
		m := newMadeUp()
		m.unsettled = true
		if got := m.decided(t, shell, c.call, c.args); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		m = newMadeUp()
		if got := m.decided(t, shell, c.call, c.args); got != "go on" {
			t.Errorf("%s, nothing to wait for: got %q", c.name, got)
		}
	}
}

func TestNoWayToTheFrontEnd(t *testing.T) {
	m := newMadeUp()
	m.err = errors.New("cut")
	if got, want := m.decided(t, child, filter.Kill, args(outside, 1)), "call 4 of 1048576: [4711 1]; EIO"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s := newMadeUp().supervisor()
	s.frontEnd = new(nowhere)
	n := &notif{PID: child, Data: seccompData{Nr: number(t, filter.Kill), Arch: filter.ABIs()[0].Arch, Args: args(outside, 1)}}
	v := s.decide(n, &eyes{m, initOutside})
	if v.wait == nil {
		t.Fatalf("got %+v, want a call that waits", v)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v = v.wait(ctx); v.errno == 0 {
		t.Errorf("got %+v, want an error", v)
	}
}

func TestLaunched(t *testing.T) {
	var l Launched
	l.Started(5)
	l.SetParent(5, 6)
	if _, ok := l.get(5); ok {
		t.Error("a process that was not started is there")
	}
	l.Begin(5, 6, 7)
	if e, _ := l.get(5); e != (launch{parent: 6, sid: 7}) {
		t.Errorf("begun: %+v", e)
	}
	l.SetParent(5, 8)
	l.Started(5)
	if e, _ := l.get(5); e != (launch{parent: 8, sid: 7, started: true}) {
		t.Errorf("started: %+v", e)
	}
	l.Forget(5)
	if _, ok := l.get(5); ok {
		t.Error("a process that has ended is there")
	}
}

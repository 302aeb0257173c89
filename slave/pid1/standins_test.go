package pid1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// A process is in the session and the group that its ghost is in.
func TestProcessIsInItsPlace(t *testing.T) {
	s := newSpace(t)
	for _, c := range []struct {
		name string
		sp   *wire.Spawn
		want kinship
	}{
		{"group of a session", command(70001, 60001, 60000, "sleep", "1000"), kinship{1, 60001, 60000}},
		{"same group", command(70002, 60001, 60000, "sleep", "1000"), kinship{1, 60001, 60000}},
		{"another group of it", command(70003, 60002, 60000, "sleep", "1000"), kinship{1, 60002, 60000}},
		{"another session", command(70004, 60003, 60004, "sleep", "1000"), kinship{1, 60003, 60004}},
		{"the session's own group", command(70005, 60000, 60000, "sleep", "1000"), kinship{1, 60000, 60000}},
		{"leads a group", command(70006, 70006, 60000, "sleep", "1000"), kinship{1, 70006, 60000}},
		{"in a group that a process leads", command(70007, 70006, 60000, "sleep", "1000"), kinship{1, 70006, 60000}},
		{"leads a session", command(70008, 70008, 70008, "sleep", "1000"), kinship{1, 70008, 70008}},
		{"place not to be seen", command(70009, 0, 0, "sleep", "1000"), kinship{1, 70009, 1}},
		{"session 1 of the front end", command(70010, 60005, 1, "sleep", "1000"), kinship{1, 60005, 1}},
		{"group 1 of the front end", command(70011, 1, 1, "sleep", "1000"), kinship{1, 1, 1}},
		{"small numbers", command(12, 11, 10, "sleep", "1000"), kinship{1, 11, 10}},
	} {
		s.launch(c.sp)
		if got := s.kinship(c.sp.PID); got != c.want {
			t.Errorf("%s: parent, group and session are %v, want %v", c.name, got, c.want)
		}
	}
}

// TestProcessSeesItsPlace has a process look at itself, which is not intercepted.
func TestProcessSeesItsPlace(t *testing.T) {
	s := newSpace(t)
	got := s.output(command(70001, 60001, 60000, "sh", "-c", `read -r stat </proc/self/stat; echo "$stat"`))
	var pid, parent, pgid, sid int
	if _, err := fmt.Sscanf(got, "%d (sh) R %d %d %d", &pid, &parent, &pgid, &sid); err != nil || pgid != 60001 || sid != 60000 {
		t.Errorf("got %q, %v", got, err)
	}
}

// A process that leads no group can make a session, as on the front end.
func TestSetsid(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "setsid", "sleep", "1000"))
	for s.kinship(70001) != (kinship{1, 70001, 70001}) {
		if len(s.statuses[70001]) > 0 {
			t.Fatal("setsid(1) has ended")
		}
		s.ask(&wire.InitSync{})
	}
}

// The groups of a session are not orphaned: stop signals of terminals take effect.
func TestStops(t *testing.T) {
	s := newSpace(t)
	for i, c := range []struct {
		pgid, sid wire.PID // 0: the process's own number
		stops     bool
	}{
		{60001, 60000, true},
		{0, 60000, true},
		{60002, 1, true},
		{60000, 60000, false}, // orphaned on the front end too
		{0, 0, false},
	} {
		sp := command(wire.PID(70001+i), c.pgid, c.sid, "sleep", "1000")
		if sp.PGID == 0 {
			sp.PGID = sp.PID
		}
		if sp.SID == 0 {
			sp.SID = sp.PID
		}
		s.launch(sp)
		s.signal(sp.PID, unix.SIGTSTP)
		if !c.stops {
			s.signal(sp.PID, unix.SIGTERM)
			if status := s.awaitStatus(sp.PID, func(unix.WaitStatus) bool { return true }); status.Signal() != unix.SIGTERM {
				t.Errorf("%v: status %#x, want ended by SIGTERM", c, status)
			}
			continue
		}
		if status := s.awaitStatus(sp.PID, unix.WaitStatus.Stopped); status.StopSignal() != unix.SIGTSTP {
			t.Errorf("%v: stopped by %v", c, status.StopSignal())
		}
		s.signal(sp.PID, unix.SIGCONT)
		s.awaitStatus(sp.PID, unix.WaitStatus.Continued)
	}
}

func TestStandinsAreFewAndCalledSo(t *testing.T) {
	s := newSpace(t)
	for i := range 10 {
		s.launch(command(wire.PID(70001+i), 60001, 60000, "true"))
		s.awaitStatus(wire.PID(70001+i), over)
	}
	numbers, between := s.standins()
	if want := []wire.PID{60000, 60001}; !slices.Equal(numbers, want) || len(between) < 2 || len(between) > 3 {
		t.Errorf("stand-ins %v and %v, want %v the fencer and one or two forkers", numbers, between, want)
	}
	for _, pid := range slices.Concat(numbers, between) {
		fds, err := os.ReadDir(filepath.Join(s.proc, pid.String(), "fd"))
		own, err2 := os.ReadDir(filepath.Join(s.proc, "1/fd"))
		if err != nil || err2 != nil || len(fds) != len(own) {
			t.Errorf("%d has %d descriptors, %v; want init's %d, %v", pid, len(fds), err, len(own), err2)
		}
	}
}

// A stand-in gives up its number where a process needs it.
func TestNumberOfAStandin(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "true"))
	s.awaitStatus(70001, over)
	s.launch(command(60001, 60002, 60000, "sleep", "1000")) // was an anchor's
	if got, want := s.kinship(60001), (kinship{1, 60002, 60000}); got != want {
		t.Errorf("number of an anchor: got %v, want %v", got, want)
	}
	s.kill(60001)
	s.launch(command(60000, 60000, 60000, "sleep", "1000")) // was the leader's
	if got, want := s.kinship(60000), (kinship{1, 60000, 60000}); got != want {
		t.Errorf("number of a leader: got %v, want %v", got, want)
	}
	s.kill(60000)
	s.launch(command(70002, 60000, 60005, "sleep", "1000")) // a group of what was a session
	if got, want := s.kinship(70002), (kinship{1, 60000, 60005}); got != want {
		t.Errorf("session that became a group: got %v, want %v", got, want)
	}
	s.kill(70002)
	s.launch(command(70003, 60005, 60000, "sleep", "1000")) // and the other way round
	if got, want := s.kinship(70003), (kinship{1, 60005, 60000}); got != want {
		t.Errorf("group that became a session: got %v, want %v", got, want)
	}
	_, between := s.standins()
	s.launch(command(between[0], 60005, 60000, "true")) // a forker's
	s.awaitStatus(between[0], over)
}

// Where a process in another place has the number of a session or group, the process begins alone.
func TestNumberOfAProcess(t *testing.T) {
	s := newSpace(t)
	s.launch(command(60000, 60001, 60002, "sleep", "1000"))
	for i, sp := range []*wire.Spawn{
		command(70001, 60003, 60000, "sleep", "1000"), // its session
		command(70002, 60000, 60004, "sleep", "1000"), // its group
	} {
		s.launch(sp)
		if got, want := s.kinship(sp.PID), (kinship{1, sp.PID, 1}); got != want {
			t.Errorf("%d: got %v, want %v", i, got, want)
		}
	}
	s.begin(command(60001, 1, 1, "true")) // a group that a process is in
	if m := s.answered(60001); m.Stage != wire.StageSpawn || unix.Errno(m.Errno) != unix.EEXIST {
		t.Errorf("number of a group: stage %d, %v, want EEXIST", m.Stage, unix.Errno(m.Errno))
	}
}

// TestLaunchThatIsHeldUp has one launch wait, and another of the same group go on.
func TestLaunchThatIsHeldUp(t *testing.T) {
	s := newSpace(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	const held = 8
	for i := range held {
		sp := command(wire.PID(70001+i), 60001, 60000, "cat")
		sp.Command.Stdio[0] = wire.Descriptor{Mode: wire.DescriptorFile, Path: fifo}
		s.begin(sp)
	}
	s.launch(command(71000, 60001, 60000, "true"))
	s.awaitStatus(71000, over)
	if len(s.launched) != 1 {
		t.Fatalf("launched: %v, want 71000 alone", s.launched)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range held {
		if m := s.answered(wire.PID(70001 + i)); m.Stage != 0 {
			t.Errorf("stage %d, %v", m.Stage, unix.Errno(m.Errno))
		}
	}
}

func TestManyLaunchesAtOnce(t *testing.T) {
	s := newSpace(t)
	const count = 200
	for i := range count {
		s.begin(command(wire.PID(70001+i), wire.PID(60001+i%6), wire.PID(60000-i%2), "sleep", "1000"))
	}
	for i := range count {
		pid := wire.PID(70001 + i)
		if m := s.answered(pid); m.Stage != 0 {
			t.Fatalf("%d: stage %d, %v", pid, m.Stage, unix.Errno(m.Errno))
		}
	}
	_, between := s.standins()
	if len(between) > count/2 { // more are made when launches take long, as on a busy machine
		t.Errorf("%d forkers for %d launches that nothing holds up", len(between), count)
	}
}

func TestKillAllAndLaunchAgain(t *testing.T) {
	s := newSpace(t)
	for round := range 5 {
		const count = 20
		for i := range count {
			s.launch(command(wire.PID(70001+i), wire.PID(60001+i%3), 60000, "sleep", "1000"))
		}
		for i := range count { // as many are under way
			s.begin(command(wire.PID(71001+i), wire.PID(60001+i%3), 60000, "sleep", "1000"))
		}
		s.send(&wire.InitKillAll{})
		sp := command(wire.PID(72001+round), 60001, 60000, "sleep", "1000")
		s.launch(sp)
		if got, want := s.kinship(sp.PID), (kinship{1, 60001, 60000}); got != want {
			t.Errorf("after all were killed: got %v, want %v", got, want)
		}
		for i := range count {
			if status := s.awaitStatus(wire.PID(70001+i), over); status.Signal() != unix.SIGKILL {
				t.Errorf("status %#x, want killed", status)
			}
			if m := s.answered(wire.PID(71001 + i)); m.Stage == 0 {
				if status := s.awaitStatus(wire.PID(71001+i), over); status.Signal() != unix.SIGKILL {
					t.Errorf("status %#x, want killed", status)
				}
			}
		}
		s.signal(sp.PID, unix.SIGTSTP)
		s.awaitStatus(sp.PID, unix.WaitStatus.Stopped)
		s.kill(sp.PID)
	}
	for pid := range s.statuses {
		if pid < 70000 || pid > 73000 {
			t.Errorf("status of %d, which nobody launched", pid)
		}
	}
}

func TestGroupThatIsAskedFor(t *testing.T) {
	s := newSpace(t)
	for _, c := range []struct {
		sid, pgid wire.PID
		want      unix.Errno
	}{
		{60000, 60001, 0},
		{60000, 60001, 0},
		{60000, 60000, 0},
		{1, 60002, 0},
		{1, 1, 0},
		{0, 60001, unix.EINVAL},
		{60000, -1, unix.EINVAL},
	} {
		if got := s.ask(&wire.InitGroup{SID: c.sid, PGID: c.pgid}); got != c.want {
			t.Errorf("%d in %d: got %v, want %v", c.pgid, c.sid, got, c.want)
		}
	}
	// A process that is in the session can join it.
	s.launch(command(70001, 60005, 60000, "perl", "-e", "setpgrp(0, 60001) or exit 1; sleep 1000"))
	for s.kinship(70001).pgid != 60001 {
		if len(s.statuses[70001]) > 0 {
			t.Fatal("setpgid failed")
		}
		s.ask(&wire.InitSync{})
	}
	s.launch(command(70002, 70002, 70002, "sleep", "1000"))
	if got := s.ask(&wire.InitGroup{SID: 70002, PGID: 60007}); got != unix.EEXIST {
		t.Errorf("session of a process: got %v, want %v", got, unix.EEXIST)
	}
}

// A signal that was asked for before has been sent when the answer comes.
func TestSync(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "sleep", "1000"))
	s.signal(70001, unix.SIGSTOP)
	if got := s.ask(&wire.InitSync{}); got != 0 {
		t.Error(got)
	}
	s.awaitStatus(70001, unix.WaitStatus.Stopped)
}

// Root of the space that means to can lower the limit of process numbers, for itself
// alone.
func TestLimitOfNumbers(t *testing.T) {
	if !ownLimit(t) {
		t.Log("one limit for all PID namespaces: Linux before 6.14")
		return
	}
	s := newSpace(t)
	for i, sp := range []*wire.Spawn{
		command(70003, 60001, 60000, "sleep", "1000"),
		command(70004, 0, 0, "sleep", "1000"),
	} {
		lower := command(wire.PID(70001+i), 0, 0, "sh", "-c", "umount /proc/sys/kernel/pid_max; echo 500 >/proc/sys/kernel/pid_max")
		s.launch(lower)
		if status := s.awaitStatus(lower.PID, over); status != 0 {
			t.Fatalf("status %#x", status)
		}
		s.launch(sp)
	}
}

// ownLimit reports whether a PID namespace has a limit of its own.
func ownLimit(t *testing.T) bool {
	t.Helper()
	const file = "/proc/sys/kernel/pid_max"
	outside, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return newSpace(t).output(command(70001, 0, 0, "cat", file)) != string(outside)
}

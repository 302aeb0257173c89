package ghost

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// lone returns a shard that a test drives itself.
func lone(t testing.TB) *shard {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	path := imageOf(t)
	rules, err := newRules(path)
	if err != nil {
		t.Fatal(err)
	}
	events := newReports(log)
	events.attach(nil)
	s := newShard(path, rules, events, newRegistry(), log)
	s.mark = 4711
	return s
}

// foreign starts ghosts whose parent is another process, which writes their ends to a file. It
// returns their numbers.
func foreign(t *testing.T, count int) (ghosts []wire.PID, ends string, parent *exec.Cmd) {
	t.Helper()
	image := imageOf(t)
	script := fmt.Sprintf("for i in $(seq %d); do %s & echo $!; pids=\"$pids $!\"; done; for p in $pids; do wait $p 2>/dev/null; echo $p $? >&2; done", count, image)
	parent = exec.Command("/bin/sh", "-c", script)
	ends = t.TempDir() + "/ends"
	file, err := os.Create(ends)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parent.Stderr = file
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	for range count {
		var pid wire.PID
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		ghosts = append(ghosts, pid)
		eventually(t, "exec of the image", func() bool {
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			return exe == image
		})
	}
	return ghosts, ends, parent
}

// told removes and returns the messages of a shard.
func (s *shard) told(t *testing.T) []string {
	t.Helper()
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	reader := wire.NewReader(bytes.NewReader(s.events.out.Close()))
	s.events.out.Open()
	var told []string
	for {
		m, _, err := reader.Read()
		if err != nil {
			break
		}
		switch m := m.(type) {
		case *wire.GhostSignal:
			told = append(told, fmt.Sprintf("signal %d to %d", (*siginfo)(m.Info).signal(), m.PID))
		case *wire.GhostGone:
			told = append(told, fmt.Sprintf("end %#x of %d, asked %v", uint32(m.Status), m.PID, m.Asked))
		}
	}
	return told
}

// says checks the messages of a shard since the last call.
func (s *shard) says(t *testing.T, want ...string) {
	t.Helper()
	told := s.told(t)
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestSlip lets ghosts slip out of the stop at their exit, as by a restart that was meant for
// another stop.
func TestSlip(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	pids, ends, parent := foreign(t, 4)
	for _, pid := range pids {
		if err := errors.Join(markHeld(pid, false), s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser})); err != nil {
			t.Fatal(err)
		}
	}
	found, driven, ended, last := s.ghosts[pids[0]], s.ghosts[pids[1]], s.ghosts[pids[2]], s.ghosts[pids[3]]
	// One is found when the shard waits for all; another is ending meanwhile.
	slipOut(t, found.pid)
	s.end(t, ended, wire.ExitStatus(7))
	eventually(t, "one slips, one ends", func() bool {
		s.poll(t)
		s.awaitEnd(ended) // as a tick does: once a ghost has slipped, ends are awaited one by one
		return s.slipped == 1 && s.ghosts[ended.pid] == nil
	})
	s.says(t, fmt.Sprintf("signal 9 to %d", found.pid), fmt.Sprintf("end 0x700 of %d, asked true", ended.pid))
	// Another one is being driven.
	slipOut(t, driven.pid)
	if err := s.exec(driven, &wire.GhostExec{PID: driven.pid, Argv: []string{"x"}}); err == nil {
		t.Error("a ghost that has slipped out of its exit executes")
	}
	s.says(t, fmt.Sprintf("signal 9 to %d", driven.pid))
	if s.slipped != 2 || statField(t, found.pid, 0) != "Z" || statField(t, driven.pid, 0) != "Z" {
		t.Errorf("%d have slipped; they are %s and %s", s.slipped, statField(t, found.pid, 0), statField(t, driven.pid, 0))
	}
	// Other ghosts are handled as usual.
	if err := unix.Kill(int(last.pid), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a signal", func() bool { s.poll(t); return !s.events.out.Idle() })
	s.says(t, fmt.Sprintf("signal 10 to %d", last.pid))
	s.end(t, last, wire.SignalStatus(int(unix.SIGTERM)))
	s.says(t, fmt.Sprintf("end 0xf of %d, asked true", last.pid))
	// Their parent is not notified before they are released.
	reads(t, ends, "")
	for _, g := range []*held{driven, found} {
		s.end(t, g, wire.ExitStatus(0))
		s.says(t, fmt.Sprintf("end 0x9 of %d, asked true", g.pid))
	}
	if s.slipped != 0 || len(s.ghosts) != 0 {
		t.Errorf("%d have slipped, of %d", s.slipped, len(s.ghosts))
	}
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
	reads(t, ends, fmt.Sprintf("%d 137\n%d 137\n%d 7\n%d 143\n", pids[0], pids[1], pids[2], pids[3]))
}

// TestSlipBesideZombie lets a ghost slip while another is held as a zombie: the kernel reports no more ends then, and
// ticks find it.
func TestSlipBesideZombie(t *testing.T) {
	runtime.LockOSThread()
	s := lone(t)
	s.ticks.timer = time.AfterFunc(time.Hour, func() { s.ticks.due.Store(true) })
	defer s.ticks.stop()
	pids, _, parent := foreign(t, 2)
	for _, pid := range pids {
		if err := errors.Join(markHeld(pid, false), s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser})); err != nil {
			t.Fatal(err)
		}
	}
	zombie, slips := s.ghosts[pids[0]], s.ghosts[pids[1]]
	if err := s.exit(zombie, wire.ExitStatus(0), true); err != nil {
		t.Fatal(err)
	}
	s.told(t)
	slipOut(t, slips.pid)
	eventually(t, "it is a zombie", func() bool { return statField(t, slips.pid, 0) == "Z" })
	eventually(t, "it is found", func() bool {
		if s.ticks.at.IsZero() {
			t.Fatal("no tick is due")
		}
		s.tick()
		return slips.killed
	})
	s.says(t, fmt.Sprintf("signal 9 to %d", slips.pid))
	for _, g := range []*held{zombie, slips} {
		s.end(t, g, wire.ExitStatus(0))
	}
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s *shard) end(t testing.TB, g *held, status wire.Status) {
	t.Helper()
	if err := s.exit(g, status, false); err != nil {
		t.Fatal(err)
	}
}

// reads checks the content of a file.
func reads(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("it reads %q, %v, want %q", text, err, want)
	}
}

// slipOut restarts a ghost too late.
func slipOut(t *testing.T, pid wire.PID) {
	t.Helper()
	if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stop at the exit", func() bool { return statField(t, pid, 0) == "t" })
	eventually(t, "the wrong restart", func() bool { return resume(unix.PTRACE_CONT, pid, 0) == nil })
	eventually(t, "a zombie", func() bool { return statField(t, pid, 0) == "Z" })
}

// poll has the shard handle the stops and ends of its tracees.
func (s *shard) poll(t *testing.T) {
	t.Helper()
	for {
		pid, status, err := s.await(anyTracee, unix.WNOHANG)
		if err != nil {
			t.Fatal(err)
		}
		if pid == 0 {
			return
		}
		s.stopped(pid, status)
	}
}

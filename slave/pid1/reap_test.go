package pid1_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

// Orphans that end one after the other are waited for at once, whether a daemon reads or there is
// none, and their ends are not reported.
func TestOrphansDoNotPileUp(t *testing.T) {
	s := newSpace(t)
	dir := t.TempDir()
	// Six chains of processes that each make the next and end.
	const chains = "until (-e $ARGV[0]) { select undef, undef, undef, 0.01 }" +
		"for (1..6) { next if fork; for (1..200) { exit if fork } exit }"
	s.order(int(pidmap.Node)+1000, 0, 0)
	s.launch(command(70001, 60001, 60000, "sh", "-c", "until test -e "+dir+"/first; do sleep 0.01; done; exit 3"))
	s.launch(command(70002, 60001, 60000, "perl", "-e", chains, dir+"/second"))
	s.launch(command(70003, 60001, 60000, "perl", "-e", chains, dir+"/third"))
	if err := s.conn.Close(); err != nil {
		t.Fatal(err)
	}
	touch(t, dir+"/first")
	s.awaitNone("70001", func(pid wire.PID) bool { return pid == 70001 && !s.ended(pid) })
	touch(t, dir+"/second") // while the end of 70001 cannot be reported
	s.awaitNone("70002", func(pid wire.PID) bool { return pid == 70002 && !s.ended(pid) })
	s.awaitNone("orphans without a daemon", func(pid wire.PID) bool { return pid > pidmap.Node })

	s.connect()
	touch(t, dir+"/third") // while the daemon does not read
	s.awaitNone("70003", func(pid wire.PID) bool { return pid == 70003 && !s.ended(pid) })
	s.awaitNone("orphans", func(pid wire.PID) bool { return pid > pidmap.Node })
	for pid, code := range map[wire.PID]int{70001: 3, 70002: 0, 70003: 0} {
		if status := s.awaitStatus(pid, over); status.ExitStatus() != code {
			t.Errorf("status of %d is %#x, want exit %d", pid, status, code)
		}
	}
	s.ask(&wire.InitSync{})
	if len(s.statuses) != 3 {
		t.Errorf("%d processes were told of, want the 3 that were launched", len(s.statuses))
	}
}

func touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// awaitNone waits until is returns true for no process of the space.
func (s *space) awaitNone(what string, is func(wire.PID) bool) {
	s.tb.Helper()
	s.until("the end of "+what, func() bool {
		entries, err := os.ReadDir(s.proc)
		if err != nil {
			s.tb.Fatal(err)
		}
		return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			n, err := strconv.Atoi(e.Name())
			return err == nil && is(wire.PID(n))
		})
	})
}

// until waits for a condition that init does not report.
func (s *space) until(what string, holds func() bool) {
	s.tb.Helper()
	s.within(patience, what, holds)
}

// within is until for what takes longer than one thing that happens.
func (s *space) within(patience time.Duration, what string, holds func() bool) {
	s.tb.Helper()
	for begin := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			s.tb.Fatalf("await %s: not within %v", what, patience)
		}
	}
}

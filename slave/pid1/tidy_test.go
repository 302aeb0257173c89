package pid1_test

import (
	"testing"
	"time"

	"bproc/wire"
)

// TestUnusedStandinsEnd makes too many stand-ins. Those that no process needs are ended.
func TestUnusedStandinsEnd(t *testing.T) {
	s := newSpace(t)
	s.launch(command(70001, 60001, 60000, "sleep", "1000"))
	const groups, most = 400, 256
	for i := range groups {
		if errno := s.ask(&wire.InitGroup{SID: wire.PID(50000 + i%2), PGID: wire.PID(40000 + i)}); errno != 0 {
			t.Fatal(errno)
		}
	}
	numbers, _ := s.standins()
	deadline := time.Now().Add(patience)
	for len(numbers) > most {
		if time.Now().After(deadline) {
			t.Fatalf("%d stand-ins are left, want at most %d", len(numbers), most)
		}
		time.Sleep(100 * time.Millisecond)
		numbers, _ = s.standins()
	}
	if got, want := s.kinship(60001), (kinship{60000, 60001, 60000}); got != want {
		t.Errorf("anchor that a process needs: got %v, want %v", got, want)
	}
	s.launch(command(70002, 40001, 50001, "sleep", "1000"))
	if got, want := s.kinship(70002), (kinship{1, 40001, 50001}); got != want {
		t.Errorf("afterwards: got %v, want %v", got, want)
	}
}

// A launch that finds a stand-in keeps it, even if there are too many and it was about to be ended.
func TestStandinsInUseStay(t *testing.T) {
	s := newSpace(t)
	const groups, most, rounds = 400, 256, 3
	pid := wire.PID(70000)
	for range rounds {
		for i := range groups {
			if errno := s.ask(&wire.InitGroup{SID: wire.PID(50000 + i%2), PGID: wire.PID(40000 + i)}); errno != 0 {
				t.Fatal(errno)
			}
		}
		deadline := time.Now().Add(patience)
		all, _ := s.standins()
		for numbers := all; len(all) >= groups && len(numbers) == len(all); numbers, _ = s.standins() {
			if time.Now().After(deadline) {
				t.Fatalf("%d stand-ins are left, want at most %d", len(numbers), most)
			}
		}
		for i := range 40 { // while they are being ended
			s.launch(command(pid, wire.PID(40000+i*groups/40), wire.PID(50000), "sleep", "0.2")) // fails the test if it cannot be made
			pid++
		}
	}
}

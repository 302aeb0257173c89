package pid1_test

import (
	"testing"
	"time"

	"bproc/wire"
)

// Of too many stand-ins those are ended that no process needs.
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

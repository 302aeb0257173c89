package ghost

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestNumberInUse asks for a child whose number another process has, at first for a while, then for
// good. The other process is not affected.
func TestNumberInUse(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	maker, holder := f.ghost(t, nobody, "maker"), other.ghost(t, nobody, "holder")
	const first, second wire.PID = 2700000, 2700001
	other.must(t, &wire.GhostFork{Parent: holder, Child: first})
	other.must(t, &wire.GhostFork{Parent: holder, Child: second})
	f.tell(t, &wire.GhostFork{Parent: maker, Child: first})
	f.tell(t, &wire.GhostExec{PID: first, Argv: []string{"made"}})
	another := f.ghost(t, nobody, "another") // others do not wait
	if m, _ := commandLine(first); strings.Join(m, " ") == "made" {
		t.Errorf("%d is %q while another process has the number", first, m)
	}
	other.tell(t, &wire.GhostExit{PID: first})
	other.gone(t, first)
	eventually(t, "the child is there", func() bool {
		argv, err := commandLine(first)
		return err == nil && strings.Join(argv, " ") == "made"
	})

	f.must(t, &wire.GhostFork{Parent: maker, Child: second}) // answered early
	if m := f.gone(t, second); m.Asked {
		t.Errorf("the second: got %+v", m)
	}
	if err := unix.Kill(int(second), 0); err != nil {
		t.Errorf("whose number it is: %v", err)
	}
	f.tell(t, &wire.GhostExit{PID: first})
	f.gone(t, first)
	other.tell(t, &wire.GhostExit{PID: second})
	other.gone(t, second)
	f.end(t, another, 0)
	f.end(t, maker, 0)
	other.end(t, holder, 0)
}

func TestWhoHas(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is a zombie", func() bool { return strings.Contains(whoHas(wire.PID(cmd.Process.Pid)), "state Z") })
	got := whoHas(wire.PID(cmd.Process.Pid))
	if want := "true, state Z (zombie), parent " + wire.PID(os.Getpid()).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := whoHas(1 << 30); !strings.Contains(got, "has ended") {
		t.Errorf("nobody: got %q", got)
	}
}

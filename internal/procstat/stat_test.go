package procstat_test

import (
	"os"
	"testing"

	"bproc/internal/procstat"
)

func TestStat(t *testing.T) {
	s := procstat.Stat("7 (a) S (b) R 1 -1 6 34816 9 4194560 18446744073709551615 x\n")
	if name, ok := s.Name(); !ok || string(name) != "a) S (b" {
		t.Errorf("got name %q, %v", name, ok)
	}
	if got := string(s.Field(procstat.State)); got != "R" {
		t.Errorf("got state %q", got)
	}
	for _, tt := range []struct {
		field procstat.Field
		want  int
		ok    bool
	}{
		{procstat.Parent, 1, true},
		{procstat.Group, -1, true},
		{procstat.State, 0, false},
		{10, 1<<31 - 1, false}, // too large
		{11, 0, false},         // not a number
		{procstat.Start, 0, false},
		{1, 0, false},
	} {
		if got, ok := s.Int(tt.field); ok != tt.ok || ok && got != tt.want {
			t.Errorf("field %d: got %d, %v, want %d, %v", tt.field, got, ok, tt.want, tt.ok)
		}
	}
	if got, ok := s.Uint(10); !ok || got != 1<<64-1 {
		t.Errorf("got %d, %v", got, ok)
	}
	if got, ok := s.Uint(procstat.Group); ok {
		t.Errorf("a negative number is %d", got)
	}
}

func TestNothing(t *testing.T) {
	for _, text := range []string{"", "7", "7 (a", "a) (b"} {
		s := procstat.Stat(text)
		if name, ok := s.Name(); ok {
			t.Errorf("%q has the name %q", text, name)
		}
		if _, ok := s.Int(procstat.Parent); ok {
			t.Errorf("%q has a parent", text)
		}
	}
}

// TestKernel compares the kernel's data about this process with what the process knows itself.
func TestKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	s := procstat.Stat(text)
	if parent, ok := s.Int(procstat.Parent); !ok || parent != os.Getppid() {
		t.Errorf("got parent %d, %v, want %d", parent, ok, os.Getppid())
	}
	if _, ok := s.Int(procstat.ExitCode); !ok {
		t.Error("there is no exit code")
	}
	if flags, ok := s.Uint(procstat.Flags); !ok || flags&(procstat.Exiting|procstat.ForkNoExec) != 0 {
		t.Errorf("got flags %#x, %v", flags, ok)
	}
}

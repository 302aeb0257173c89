package ghost

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// names returns a ghost's name and command line in /proc.
func names(t testing.TB, pid wire.PID) (comm, line string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n"), string(cmdline)
}

// program returns a value that differs between executions of a program: its auxiliary vector has
// the address of random bytes, among others, which the kernel chooses each time (getauxval(3)).
func program(t testing.TB, pid wire.PID) string {
	t.Helper()
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(auxv)
}

// TestCommandLines has ghosts show command lines, with and without the kernel's support for setting
// their place.
func TestCommandLines(t *testing.T) {
	if !canRemap() {
		t.Error("this kernel has no PR_SET_MM_MAP: CONFIG_CHECKPOINT_RESTORE")
	}
	half := strings.Repeat("h", maxArgv/2-5000)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint(i))
	}
	for _, remap := range []bool{true, false} {
		if !remap {
			t.Setenv("GHOST_TEST_EXECVE", "1")
		}
		f := newFixture(t)
		parent := f.ghost(t, nobody, "/bin/first", "one")
		const child = wire.PID(2300000)
		f.must(t, &wire.GhostFork{Parent: parent, Child: child})
		for _, pid := range []wire.PID{parent, child} {
			if comm, line := names(t, pid); comm != "first" || line != "/bin/first\x00one\x00" {
				t.Errorf("at first it is %q, %q", comm, line)
			}
			for i, c := range []struct {
				argv   []string
				comm   string
				want   string
				remaps bool
			}{
				{[]string{"/usr/bin/cc", "-c", "a.c"}, "", "cc", true},
				{[]string{"ld"}, "", "ld", true},
				{[]string{""}, "", "", true},
				{[]string{"", "", ""}, "empty", "empty", true},
				{[]string{"a", "", "b c\n"}, "sixteen letters!", "sixteen letters", true},
				{many, "", "0", true},
				{[]string{half}, "half", "half", true},
				{[]string{half, "2"}, "half 2", "half 2", true},
				{[]string{"x", half, half}, "", "x", false}, // no room beside the one before
				{[]string{strings.Repeat("w", maxArgv-200)}, "whole", "whole", true},
				{[]string{"as", half[:300]}, "", "as", false},
				{[]string{"as", "-o"}, "", "as", true},
			} {
				before := program(t, pid)
				f.must(t, &wire.GhostExec{PID: pid, Argv: c.argv, Comm: c.comm})
				comm, line := names(t, pid)
				if want := strings.Join(c.argv, "\x00") + "\x00"; comm != c.want || line != want {
					t.Errorf("remap %v, line %d: it is %q, %.20q of %d bytes, want %q, %.20q of %d", remap, i, comm, line, len(line), c.want, want, len(want))
				}
				if same := program(t, pid) == before; same != (remap && c.remaps) {
					t.Errorf("remap %v, line %d: the same program: %v", remap, i, same)
				}
			}
			f.must(t, &wire.GhostExec{PID: pid, Comm: "ended"})
			if comm, line := names(t, pid); comm != "ended" || line != "as\x00-o\x00" {
				t.Errorf("with another name it is %q, %q", comm, line)
			}
		}
		f.tell(t, &wire.GhostExit{PID: child})
		f.gone(t, child)
		f.end(t, parent, 0)
	}
}

// TestCommandLineOfFound has the next keeper, which does not know the place of a ghost's command
// line, show another one.
func TestCommandLineOfFound(t *testing.T) {
	first := newFixture(t)
	pid := first.ghost(t, nobody, "a")
	first.must(t, &wire.GhostExec{PID: pid, Argv: []string{"b"}})
	first.stopKeeper(t)
	f := newFixture(t)
	for _, want := range []struct {
		line string
		same bool
	}{{"c", false}, {"d", true}} {
		before := program(t, pid)
		f.must(t, &wire.GhostExec{PID: pid, Argv: []string{want.line}})
		if comm, line := names(t, pid); comm != want.line || line != want.line+"\x00" {
			t.Errorf("it is %q, %q, want %q", comm, line, want.line)
		}
		if same := program(t, pid) == before; same != want.same {
			t.Errorf("%s: the same program: %v", want.line, same)
		}
	}
	f.end(t, pid, 0)
}

// TestCommandLineInLimit uses a ghost whose process may have no data: the kernel does not let it
// set the place of its command line.
func TestCommandLineInLimit(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "a")
	none := unix.Rlimit{}
	if err := unix.Prlimit(int(pid), unix.RLIMIT_DATA, &none, nil); err != nil {
		t.Fatal(err)
	}
	before := program(t, pid)
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"b"}})
	if comm, line := names(t, pid); comm != "b" || line != "b\x00" {
		t.Errorf("it is %q, %q", comm, line)
	}
	if program(t, pid) == before {
		t.Error("the kernel has let it")
	}
	f.end(t, pid, 0)
}

package pid1

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// The assembler files have these as constants.
func TestAssemblerConstants(t *testing.T) {
	if got := unsafe.Sizeof(cloneArgs{}); got != 88 {
		t.Errorf("struct clone_args has %d bytes, want 88 (CLONE_ARGS_SIZE_VER2)", got)
	}
	if unix.SYS_CLONE3 != 435 {
		t.Errorf("clone3 is %d, want 435", unix.SYS_CLONE3)
	}
}

func spawn() *wire.Spawn {
	return &wire.Spawn{PID: 70001, UID: 1, GID: 2, Command: wire.Command{
		Argv: []string{"true"}, Dir: "/tmp",
		Stdio: [3]wire.Descriptor{{Mode: wire.DescriptorStream}, {Mode: wire.DescriptorFile, Path: "out"}, {}},
	}}
}

// index returns the index of the first step with a system call.
func index(t *testing.T, p *plan, trap uintptr) int {
	t.Helper()
	for i, s := range p.steps {
		if s.trap == trap {
			return i
		}
	}
	t.Fatalf("no step with system call %d", trap)
	return 0
}

// TestOrderOfSteps states in which order the steps must be, and why.
func TestOrderOfSteps(t *testing.T) {
	p, errno := newPlan(spawn(), []int{9}, alone, nodeState{null: 5})
	if errno != 0 {
		t.Fatal(errno)
	}
	if first := p.steps[0]; first.trap != unix.SYS_CLOSE_RANGE || first.args[2] != unix.CLOSE_RANGE_UNSHARE {
		t.Errorf("step 0 is system call %d: until the descriptors are its own, a child must not touch them", first.trap)
	}
	p.steps = p.steps[1:]
	for _, c := range []struct {
		reason        string
		first, second uintptr
	}{
		{"the limit on open files is for the program", unix.SYS_DUP3, unix.SYS_PRLIMIT64},
		{"a child that is held up holds no streams of others", unix.SYS_CLOSE_RANGE, unix.SYS_CHDIR},
		{"limits are raised by root", unix.SYS_PRLIMIT64, unix.SYS_SETRESUID},
		{"groups are set by root", unix.SYS_SETGROUPS, unix.SYS_SETRESUID},
		{"a signal ends the user's process, not root's", unix.SYS_SETRESUID, unix.SYS_RT_SIGPROCMASK},
		{"the directory is the user's", unix.SYS_SETRESUID, unix.SYS_CHDIR},
		{"files are named from the directory", unix.SYS_CHDIR, unix.SYS_OPENAT},
		{"who waits in open can be interrupted", unix.SYS_RT_SIGPROCMASK, unix.SYS_OPENAT},
	} {
		if a, b := index(t, p, c.first), index(t, p, c.second); a >= b {
			t.Errorf("%s: steps %d and %d", c.reason, a, b)
		}
	}
}

// A child has the user's identity and shares init's memory: no step may come between that and the
// end of core dumps, whatever fs.suid_dumpable is.
func TestMemoryIsNotDumped(t *testing.T) {
	p, errno := newPlan(spawn(), []int{9}, alone, nodeState{null: 5, cookie: 4711})
	if errno != 0 {
		t.Fatal(errno)
	}
	changed := -1
	for i, s := range p.steps {
		switch s.trap {
		case unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID:
			changed = i
		}
	}
	step := p.steps[changed+1]
	if step.trap != unix.SYS_PRCTL || step.args[0] != unix.PR_SET_DUMPABLE || step.args[1] != 0 || step.args[cookieArg] != 4711 || step.rule != must {
		t.Errorf("after the change of credentials comes %+v", step)
	}
}

func TestStreamsGoWhereTheyBelong(t *testing.T) {
	sp := spawn()
	sp.Command.Stdio[2].Mode = wire.DescriptorStream
	p, errno := newPlan(sp, []int{9, 8}, alone, nodeState{null: 5})
	if errno != 0 {
		t.Fatal(errno)
	}
	var dups [][2]uintptr
	for _, s := range p.steps {
		if s.trap == unix.SYS_DUP3 {
			dups = append(dups, [2]uintptr{s.args[0], s.args[1]})
		}
	}
	if len(dups) != 2 || dups[0] != [2]uintptr{9, 0} || dups[1] != [2]uintptr{8, 2} {
		t.Errorf("got %v, want 9 as 0 and 8 as 2", dups)
	}
	if _, errno := newPlan(sp, []int{9, 8, 7}, alone, nodeState{}); errno != unix.EBADF {
		t.Errorf("a descriptor too many: got %v, want %v", errno, unix.EBADF)
	}
}

// Each string ends with NUL and each array with 0.
func TestArray(t *testing.T) {
	p := &plan{}
	want := []string{"one", "", "three"}
	array, errno := p.array(want)
	if errno != 0 || len(array) != 4 || array[3] != 0 {
		t.Fatalf("got %v, %v", array, errno)
	}
	text := p.keep[0].([]byte)
	text = text[:cap(text)]
	base := uintptr(unsafe.Pointer(&text[0]))
	for i, s := range want {
		if got := unix.ByteSliceToString(text[array[i]-base:]); got != s {
			t.Errorf("string %d: got %q, want %q", i, got, s)
		}
	}
	if _, errno := p.array([]string{"a\x00b"}); errno != unix.EINVAL {
		t.Errorf("NUL inside: got %v, want %v", errno, unix.EINVAL)
	}
}

package pid1

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSee: a process that sees the view gets a mount namespace of its own before anything is
// mounted, and while it is root. Its standard descriptors come after that, since the mounts take
// the numbers of two of them.
func TestSee(t *testing.T) {
	sp := spawn()
	without, errno := newPlan(sp, []int{9}, alone, nodeState{null: 5})
	if errno != 0 {
		t.Fatal(errno)
	}
	p, errno := newPlan(sp, []int{9}, alone, nodeState{null: 5, view: "/run/view"})
	if errno != 0 {
		t.Fatal(errno)
	}
	from := index(t, p, unix.SYS_UNSHARE)
	var traps []uintptr
	for _, s := range p.steps[from : from+9] {
		traps = append(traps, s.trap)
	}
	if want := []uintptr{
		unix.SYS_UNSHARE, unix.SYS_MOUNT,
		unix.SYS_CLOSE, unix.SYS_OPEN_TREE, unix.SYS_UMOUNT2, unix.SYS_CLOSE, unix.SYS_OPEN_TREE,
		unix.SYS_MOVE_MOUNT, unix.SYS_MOVE_MOUNT,
	}; !slices.Equal(traps, want) {
		t.Errorf("system calls %v, want %v", traps, want)
	}
	if base, view := p.steps[from+7].args[0], p.steps[from+8].args[0]; base != 1 || view != 0 {
		t.Errorf("descriptors %d and %d are mounted, want what is below the view, 1, and then that, 0", base, view)
	}
	for _, later := range []uintptr{unix.SYS_DUP3, unix.SYS_SETRESUID} {
		if index(t, p, later) < from {
			t.Errorf("system call %d comes before", later)
		}
	}
	if got := len(p.steps) - len(without.steps); got != len(traps) {
		t.Errorf("%d steps more than without a view, want %d", got, len(traps))
	}
}

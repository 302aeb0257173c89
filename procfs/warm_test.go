package procfs

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// TestListingWarms lists many processes that nobody has looked at. The kernel is to know
// their files, and what is in them, without having been asked for any.
func TestListingWarms(t *testing.T) {
	m := mount(t)
	var told []Process
	for i, pid := range ghosts(t, 2*worthWarming) {
		told = append(told, remote(pid, 'S', i))
	}
	m.show(told...)
	if _, err := os.ReadDir(m.path); err != nil {
		t.Fatal(err)
	}
	wants := func(p Process) map[string][]byte {
		return map[string][]byte{"stat": p.Stat, "status": p.Status, "statm": p.Statm, "cmdline": p.Cmdline, "cgroup": p.Cgroup, "environ": p.Environ}
	}
	for _, p := range told {
		for name, want := range wants(p) {
			eventually(t, func() error { return m.keeps(want, p.PID.String(), name) })
		}
	}
	// What changes then is another file. One that is not cold is not warmed.
	changed := remote(told[0].PID, 'R', 77)
	m.show(changed)
	for name, want := range wants(changed) {
		if got := m.read(changed.PID, name); got != string(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if m.view.cold(told[0].PID) || m.view.cold(told[1].PID) {
		t.Error("the kernel has forgotten a process that it knew")
	}
}

// keeps reports whether the kernel has what is in a file of a process.
func (m *mounted) keeps(want []byte, pid, name string) error {
	dir := m.view.table.known(place{rootID, pid})
	n := m.view.table.known(place{dir, name})
	got := make([]byte, len(want)+1)
	size, status := m.view.kernel.InodeRetrieveCache(n, 0, got)
	if status != fuse.OK || !bytes.Equal(got[:size], want) {
		return fmt.Errorf("%s of %s, inode %d: the kernel has %q, %v, want %q", name, pid, n, got[:size], status, want)
	}
	return nil
}

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestDelegatedGroups runs a cluster on a host whose control groups are mounted as by systemd:
// processes cannot be moved or cloned across a cgroup namespace's boundary from within (nsdelegate,
// cgroups(7)).
func TestDelegatedGroups(t *testing.T) {
	delegateNamespaces(t)
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	for _, user := range users {
		if got := ask(t, c.Front, user, "bpsh", "0", "id", "-un"); got != user.Name {
			t.Errorf("got %q, want %q", got, user.Name)
		}
	}
	if err := c.Nodes[0].Reboot(); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Nodes[0], cluster.Alice, "true")
}

// delegateNamespaces mounts the version 2 hierarchy with nsdelegate until the test ends. It is an
// option of the hierarchy, not of one of its mounts.
func delegateNamespaces(t *testing.T) {
	t.Helper()
	const option = "nsdelegate"
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil {
		t.Fatal(err)
	}
	if len(mounts) == 0 {
		t.Log("no version 2 hierarchy is mounted: machines have none either")
		return
	}
	m := mounts[0]
	former := slices.DeleteFunc(strings.Split(m.VFSOptions, ","), func(o string) bool { return o == "rw" || o == "ro" })
	if slices.Contains(former, option) {
		return
	}
	// A remount switches off all options that it does not name.
	remount := func(options []string) {
		if err := unix.Mount("", m.Mountpoint, "", unix.MS_REMOUNT|mountFlags(m.Options), strings.Join(options, ",")); err != nil {
			t.Errorf("mount %s with %v: %v", m.Mountpoint, options, err)
		}
	}
	t.Cleanup(func() { remount(former) })
	remount(append(slices.Clone(former), option))
	now, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(m.Mountpoint))
	if err != nil {
		t.Fatal(err)
	}
	if len(now) != 1 || !strings.Contains(now[0].VFSOptions, option) {
		t.Logf("%s cannot be switched on: these tests are in a container", option)
	}
}

// mountFlags returns the flags of a mount from their form in mountinfo.
func mountFlags(options string) (flags uintptr) {
	known := map[string]uintptr{
		"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
		"noatime": unix.MS_NOATIME, "nodiratime": unix.MS_NODIRATIME, "relatime": unix.MS_RELATIME,
	}
	for _, o := range strings.Split(options, ",") {
		flags |= known[o]
	}
	return flags
}

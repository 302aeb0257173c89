package master

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestInherit checks that attributes are read from the process, whatever the request says.
func TestInherit(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "umask 027; ulimit -c 512; ulimit -Sn 77; exec setpriv --bounding-set -chown,-mknod --reuid 1234 --regid 2345 --groups 7,8 nice -n 5 sh -c 'echo; read x'")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	spawn := wire.Spawn{
		PID: wire.PID(cmd.Process.Pid), Parent: wire.PID(os.Getpid()), UID: 1234, GID: 99, Groups: []uint32{0},
		Command: wire.Command{Nice: -20, Limits: []wire.Limit{{Resource: unix.RLIMIT_RTPRIO, Soft: 99, Hard: 99}}},
	}
	if err := inherit(&spawn, nil); err != nil {
		t.Fatal(err)
	}
	got := spawn.Command
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	if nice := int8(min(20-own+5, 19)); got.Umask != 0o27 || got.Nice != nice {
		t.Errorf("got umask %o, nice %d; want 27, %d", got.Umask, got.Nice, nice)
	}
	if spawn.GID != 2345 || !slices.Equal(spawn.Groups, []uint32{7, 8}) {
		t.Errorf("got group %d and %v, want 2345 and 7, 8", spawn.GID, spawn.Groups)
	}
	if group, err := unix.Getpgid(int(spawn.PID)); err != nil || spawn.PGID != wire.PID(group) {
		t.Errorf("got process group %d, want %d, %v", spawn.PGID, group, err)
	}
	if session, err := unix.Getsid(int(spawn.PID)); err != nil || spawn.SID != wire.PID(session) {
		t.Errorf("got session %d, want %d, %v", spawn.SID, session, err)
	}
	if want := uint64(1<<unix.CAP_CHOWN | 1<<unix.CAP_MKNOD); spawn.Dropped != want {
		t.Errorf("got dropped capabilities %#x, want %#x", spawn.Dropped, want)
	}
	if len(got.Limits) != resources {
		t.Fatalf("got limits %v, want %d", got.Limits, resources)
	}
	for i, l := range got.Limits {
		var mine unix.Rlimit
		if err := unix.Getrlimit(i, &mine); err != nil {
			t.Fatal(err)
		}
		if want := (wire.Limit{Resource: uint8(i), Soft: mine.Cur, Hard: mine.Max}); l != want && i != unix.RLIMIT_CORE && i != unix.RLIMIT_NOFILE {
			t.Errorf("got limit %+v, want %+v", l, want)
		}
	}
	if c, n := got.Limits[unix.RLIMIT_CORE], got.Limits[unix.RLIMIT_NOFILE]; c.Hard == math.MaxUint64 || c.Soft != c.Hard || n.Soft != 77 || n.Hard <= 77 {
		t.Errorf("got limits of core files %+v and open files %+v", c, n)
	}
	for name, is := range map[string]wire.Spawn{
		"another's child":   {PID: spawn.PID, Parent: 1, UID: 1234},
		"another's":         {PID: spawn.PID, Parent: spawn.Parent, UID: 1235},
		"no process":        {PID: math.MaxInt32, Parent: spawn.Parent, UID: 1234},
		"no such process":   {PID: -1, Parent: spawn.Parent, UID: 1234},
		"the master itself": {PID: spawn.Parent, Parent: spawn.Parent},
	} {
		if err := inherit(&is, nil); err == nil {
			t.Errorf("%s is taken for a ghost", name)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // read has found the end of its input
}

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

func TestPick(t *testing.T) {
	const mode, hers = 0o111, 0o110
	node := func(id client.NodeID, state string, mode uint32) client.Node {
		return client.Node{ID: id, State: state, Mode: mode}
	}
	at := func(id client.NodeID) *client.NodeID { return &id }
	up := []client.Node{node(0, "up", mode), node(1, "up", mode), node(2, "up", hers)}
	for _, tt := range []struct {
		name   string
		table  []client.Node
		nodes  string
		former place.Record
		others *client.NodeID
		want   client.NodeID
		err    string
	}{
		{"the first", up, "0-2", place.Record{}, nil, 0, ""},
		{"that of the last run", up, "0-2", place.Record{Placed: true, Node: 1}, nil, 1, ""},
		{"the last run was elsewhere", up, "0", place.Record{Placed: true, Node: 1}, nil, 0, ""},
		{"not the user's", up, "2", place.Record{Placed: true, Node: 2}, nil, 0, `no node of "2" is up and yours to use`},
		{"with the others", up, "0-2", place.Record{}, at(1), 1, ""},
		{"with the others at random", up, "random:1/0", place.Record{}, at(1), 1, ""},
		{"the others are elsewhere", up, "0", place.Record{}, at(1), 0, `other processes of job web run on node 1, which is not one of "0": all run on the same`},
		{"the others are where the user may not be", up, "0-2", place.Record{}, at(2), 0, `other processes of job web run on node 2, which is not yours to use: all run on the same`},
		{"the others are on a drained node", []client.Node{node(0, "up", mode), node(1, "draining", mode)}, "0-1", place.Record{}, at(1), 0, `other processes of job web run on node 1, which is draining: all run on the same`},
		{"the others were on a node that is down", []client.Node{node(0, "up", mode), node(1, "down", mode)}, "0-1", place.Record{}, at(1), 0, ""},
		{"the others were on a node that was booted", []client.Node{node(0, "up", mode), node(1, "boot", mode)}, "0-1", place.Record{}, at(1), 0, ""},
	} {
		s := &Supervisor{Nodes: tt.nodes, Place: place.Process{Job: place.Job{Name: "web"}}, Spec: spec.Spec{UID: 12345, GID: 12345, Ordinary: true}}
		n, err := s.pick(tt.table, tt.former, tt.others)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if n.ID != tt.want || got != tt.err {
			t.Errorf("%s: got node %d, %q", tt.name, n.ID, got)
		}
	}
}

func TestAsUser(t *testing.T) {
	t.Setenv("SECRET", "of root")
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("BPROC_SOCKET", "/socket")
	s := &Supervisor{Spec: spec.Spec{UID: 65534, GID: 65534}}
	out, err := s.asUser(exec.Command("/usr/bin/env")).Output()
	if want := "PATH=/usr/bin:/bin\nBPROC_SOCKET=/socket\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

// TestDown checks which answers of the master say that nothing is left on a node, and which that it
// is not certain yet.
// TestOwnSession checks that a program of a job's user has no terminal of root's.
func TestOwnSession(t *testing.T) {
	s := withoutMaster(t, t.TempDir())
	s.Spec.UID, s.Spec.GID = uint32(os.Getuid()), uint32(os.Getgid())
	out, err := s.asUser(exec.Command("sh", "-c", "ps -o sid= -p $$; echo $$")).Output()
	if f := strings.Fields(string(out)); err != nil || len(f) != 2 || f[0] != f[1] {
		t.Errorf("its session and number are %q, %v", out, err)
	}
}

func TestDown(t *testing.T) {
	for _, c := range []struct {
		err             error
		down, uncertain bool
	}{
		{&client.Error{Stage: client.StageNode, Errno: unix.EHOSTDOWN}, true, false},
		{&client.Error{Stage: client.StageNode, Errno: unix.ENXIO}, true, false},
		{fmt.Errorf("start: %w", &client.Error{Stage: client.StageNode, Errno: unix.EHOSTDOWN}), true, false},
		{&client.Error{Stage: client.StageNode, Errno: unix.EAGAIN, Text: "it is not certain yet that its processes have ended"}, false, true},
		{&client.Error{Stage: client.StageNode, Errno: unix.EHOSTDOWN, Text: "it is in state reboot"}, false, false},
		{&client.Error{Stage: client.StageNode, Errno: unix.EACCES}, false, false},
		{&client.Error{Stage: client.StageGhost, Errno: unix.EAGAIN}, false, false},
		{client.ErrLost, false, false},
		{nil, false, false},
	} {
		if down, uncertain := isDown(c.err), isUncertain(c.err); down != c.down || uncertain != c.uncertain {
			t.Errorf("%v: down %v, uncertain %v, want %v, %v", c.err, down, uncertain, c.down, c.uncertain)
		}
	}
}

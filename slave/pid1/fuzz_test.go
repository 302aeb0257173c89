package pid1

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// FuzzPlan prepares launches of whatever a user may request. The memory of a plan, which is init's,
// is bounded by the size of the request. The child works through lists that end, takes on its user,
// and has no descriptors but those of the process.
func FuzzPlan(f *testing.F) {
	own := wire.Spawn{PID: 1 << 20, SID: 5, PGID: 5, UID: 1000, GID: 1000, Groups: []uint32{4, 5}, Dropped: 3, Command: wire.Command{
		Argv: []string{"ls", ""}, Env: []string{"PATH=/bin::/usr/bin", "A"}, Dir: "/tmp", Ignored: 1 << 12,
		Stdio: [3]wire.Descriptor{{Mode: wire.DescriptorFile, Path: "in"}, {Mode: wire.DescriptorStream}, {}},
	}}
	for _, command := range []string{"ls", "./ls", "", "a\x00b"} {
		sp := own
		sp.Command.Argv = []string{command}
		for streams := range byte(3) {
			frame, err := wire.Append(nil, 0, &sp)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(frame[wire.HeaderSize:], streams)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, count byte) {
		m, err := wire.Decode(wire.Header{Type: wire.TypeSpawn}, payload)
		if errors.Is(err, wire.ErrFrame) {
			return
		}
		sp := m.(*wire.Spawn)
		streams := make([]int, count%5)
		for i := range streams {
			streams[i] = 10 + i
		}
		p, errno := newPlan(sp, streams, placeOf(sp), nodeState{null: 5, resetOOM: true, name: new([16]byte)})
		if errno != 0 {
			return
		}
		isBounded(t, p, len(payload))
		isComplete(t, p, sp)
	})
}

func isBounded(t *testing.T, p *plan, asked int) {
	t.Helper()
	size := 0
	for _, kept := range p.keep {
		if text, ok := kept.([]byte); ok {
			size += cap(text)
		}
	}
	if lists := len(p.paths) + len(p.argv) + len(p.envp) + len(p.script); size > 2*maxCandidates+2*asked || lists > 4*asked+maxCandidates {
		t.Errorf("a launch of %d bytes takes %d bytes and %d pointers", asked, size, lists)
	}
}

func isComplete(t *testing.T, p *plan, sp *wire.Spawn) {
	t.Helper()
	for _, list := range [][]uintptr{p.argv, p.envp, p.script} {
		for i, at := range list {
			if (at == 0) != (i == len(list)-1) && (at != 0 || &list[0] != &p.script[0] || i != 1) {
				t.Errorf("a list of %d has %#x at %d", len(list), at, i)
			}
		}
	}
	user, others := -1, -1
	for i, s := range p.steps {
		switch s.trap {
		case unix.SYS_SETRESUID:
			user = i
			if s.rule != must || s.args[0] != uintptr(sp.UID) || s.args[1] != uintptr(sp.UID) || s.args[2] != uintptr(sp.UID) {
				t.Errorf("the user is set by %+v", s)
			}
		case unix.SYS_CLOSE_RANGE:
			others = i
			if s.rule != must {
				t.Errorf("other descriptors are closed by %+v", s)
			}
		case unix.SYS_OPENAT:
			if s.rule == must && user < 0 {
				t.Errorf("a file is opened before the user is set: %+v", s)
			}
		case unix.SYS_PRLIMIT64, unix.SYS_SETPRIORITY, unix.SYS_SETGROUPS:
			if user >= 0 {
				t.Errorf("step %+v comes after the user", s)
			}
		}
	}
	if user < 0 || others < 0 {
		t.Errorf("steps %+v: the user is set by %d, descriptors are closed by %d", p.steps, user, others)
	}
}

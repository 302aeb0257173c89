package ghost

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// AnyUser in a GhostAdopt, and Parent 0, stand for a ghost that has been
// adopted before: its image alone tells what it is.
const AnyUser = ^uint32(0)

// adopt seizes a ghost that a client made, after a look at what it is. The
// checks come after the seizing: from then on nothing can change unseen.
func (s *shard) adopt(m *wire.GhostAdopt) error {
	if s.ghosts[m.PID] != nil {
		return unix.EEXIST
	}
	if m.PID <= 1 {
		s.owners.drop(m.PID, s)
		return unix.EINVAL
	}
	if err := ptrace(unix.PTRACE_SEIZE, m.PID, 0, traceOptions); err != nil {
		s.owners.drop(m.PID, s)
		return fmt.Errorf("seize %d: %w", m.PID, err)
	}
	g := &held{pid: m.PID, since: m.UID == AnyUser}
	g.astray = g.since
	st, err := readStatus(m.PID)
	if err == nil {
		err = s.check(m, st)
	}
	if err != nil {
		return s.letGo(g, err)
	}
	g.user, g.group = st.user, st.group
	g.root = st.user.Effective == 0 && st.capable != imageCapabilities
	s.add(g)
	how := wire.Adopted{PID: m.PID, Parent: st.parent, HangUp: m.HangUp, Birth: m.Birth}
	if g.since {
		_, how.HangUp = wasHeld(m.PID)
	}
	s.owners.adopted(how)
	if err := markHeld(m.PID, how.HangUp); err != nil {
		s.log.Warn("a ghost is not marked; no later keeper would seize it", "pid", m.PID, "err", err)
	}
	if st.blocked != 0 {
		// A blocked signal never reaches the point where a tracer sees it.
		if err := s.unblock(g); err != nil {
			return err
		}
	}
	if g.since || st.name == filepath.Base(s.image) {
		s.comeUp(g)
	}
	return nil
}

// comeUp waits until a ghost has done what its image does first. Until then it has
// the name of the image, which whoever hears of its process must not see. It also
// learns whether the ghost is stopped, which a master wants to know at once of one
// that a former keeper held: /proc tells no more after the seizing (ptrace(2), "t").
// One that is killed meanwhile is held, and reported, like any other.
func (s *shard) comeUp(g *held) {
	d, err := s.drive(g)
	if err != nil {
		return
	}
	if g.since {
		d.disown()
	}
	d.release()
}

func (s *shard) check(m *wire.GhostAdopt, st processStatus) error {
	var image unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/exe", m.PID), &image); err != nil {
		return fmt.Errorf("image of %d: %w", m.PID, err)
	}
	switch {
	case image.Dev != s.device || image.Ino != s.inode:
		return fmt.Errorf("image of %d: %w", m.PID, unix.EINVAL)
	case m.Parent != 0 && st.parent != m.Parent:
		return fmt.Errorf("parent of %d: %w", m.PID, unix.ECHILD)
	case m.UID != AnyUser && st.user.Real != m.UID:
		return fmt.Errorf("user of %d: %w", m.PID, unix.EPERM)
	case st.capable&imageCapabilities != imageCapabilities:
		// It could not choose its children's numbers: no_new_privs, or a file system
		// mounted with nosuid, has kept the image's file capabilities from it.
		return fmt.Errorf("capability of %d: %w", m.PID, unix.EPERM)
	}
	return nil
}

// letGo detaches from a process that is no ghost for us.
func (s *shard) letGo(g *held, why error) error {
	s.owners.drop(g.pid, s)
	// Detaching needs a stop; whatever stops the process first does as well.
	s.ghosts[g.pid] = g
	defer delete(s.ghosts, g.pid)
	if err := resume(unix.PTRACE_INTERRUPT, g.pid, 0); err != nil {
		return why
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(g.pid), &status, unix.WALL|unix.WNOTHREAD, nil); err == nil && status.Stopped() {
		st := stopOf(status)
		sig := unix.Signal(0)
		if st.event == 0 {
			sig = st.signal
		}
		_ = resume(unix.PTRACE_DETACH, g.pid, sig)
	}
	return why
}

// unblock empties a ghost's signal mask.
func (s *shard) unblock(g *held) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	var mask uint64
	if err := ptrace(ptraceSetSigmask, g.pid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
		return fmt.Errorf("signal mask of ghost %d: %w", g.pid, err)
	}
	return nil
}

// processStatus is what the keeper wants to know from /proc/PID/status.
type processStatus struct {
	name    string
	parent  wire.PID
	tracer  wire.PID // 0: none
	user    wire.IDs
	group   wire.IDs
	blocked uint64 // signals
	capable uint64 // effective capabilities
}

func readStatus(pid wire.PID) (processStatus, error) {
	text, err := readProc(pid, "status")
	if err != nil {
		return processStatus{}, err
	}
	return parseStatus(text)
}

// parseStatus reads the file that proc_pid_status(5) describes.
func parseStatus(text []byte) (processStatus, error) {
	var st processStatus
	var parent, tracer, blocked, capable [1]uint64
	var user, group [3]uint64
	for _, f := range []struct {
		name   string
		base   int
		values []uint64
	}{
		{"PPid:", 10, parent[:]},
		{"TracerPid:", 10, tracer[:]},
		{"Uid:", 10, user[:]}, // real, effective, saved; the fourth is the file system's
		{"Gid:", 10, group[:]},
		{"SigBlk:", 16, blocked[:]},
		{"CapEff:", 16, capable[:]},
	} {
		if err := statusField(text, f.name, f.base, f.values); err != nil {
			return st, err
		}
	}
	ids := func(v [3]uint64) wire.IDs {
		return wire.IDs{Real: uint32(v[0]), Effective: uint32(v[1]), Saved: uint32(v[2])}
	}
	name, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("Name:\t")), []byte("\n"))
	st.name = string(name)
	st.parent, st.tracer, st.blocked, st.capable = wire.PID(parent[0]), wire.PID(tracer[0]), blocked[0], capable[0]
	st.user, st.group = ids(user), ids(group)
	return st, nil
}

// statusField reads the first values of a field.
func statusField(text []byte, name string, base int, values []uint64) error {
	_, rest, ok := bytes.Cut(text, []byte("\n"+name))
	if !ok {
		return fmt.Errorf("process status: no field %s", name)
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) < len(values) {
		return fmt.Errorf("process status: field %s has %d values", name, len(words))
	}
	for i := range values {
		v, err := strconv.ParseUint(string(words[i]), base, 64)
		if err != nil {
			return fmt.Errorf("process status: field %s: %w", name, err)
		}
		values[i] = v
	}
	return nil
}

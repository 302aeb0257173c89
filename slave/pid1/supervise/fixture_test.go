package supervise

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// Processes of the made-up space. shell was started from the front end, in a session and group of
// the front end; child is its child. leader has made a session on the node, and worker is in its
// group. daemon was started from the front end and has made a session. orphan's parent has ended.
const (
	initOutside = 900

	shell   = 70001
	daemon  = 70002
	coming  = 70003 // is being started
	child   = 1 << 20
	leader  = child + 1
	worker  = child + 2
	orphan  = child + 3
	inner   = child + 5 // in a PID namespace further in
	jailed  = child + 7 // of a job
	other   = child + 6 // shell's child in another group, has executed a program
	thread  = child + 4 // of worker
	faraway = child + 100_000
	gone    = child + 8000        // of this node, and no process has it
	outside = 4711                // a process of the front end
	helper  = 66                  // a number of init's own
	shadow  = pidmap.LocalEnd + 5 // stands for outside
	ending  = pidmap.LocalEnd + 6 // a shadow whose process has ended

	session = 3000 // of the front end
	group   = 3001 // of the front end, in that session
)

// madeUp is a space and a front end.
type madeUp struct {
	callers map[uint32]identity
	threads map[wire.PID]bool
	bytes   map[uintptr][]byte
	asked   int  // how often the caller was looked up
	reads   int  // how often a caller's memory was read
	left    bool // callers no longer wait

	unsettled bool

	said   []string
	answer *wire.Return
	shadow *os.File
	err    error
}

func newMadeUp() *madeUp {
	m := &madeUp{callers: map[uint32]identity{}, bytes: map[uintptr][]byte{}, answer: &wire.Return{}, shadow: os.Stdin}
	for _, who := range []identity{
		{pid: shell, pgid: group, sid: session, parent: initOutside},
		{pid: daemon, pgid: daemon, sid: daemon, parent: initOutside},
		{pid: coming, pgid: group, sid: session, parent: initOutside},
		{pid: child, pgid: group, sid: session, parent: 1001},
		{pid: leader, pgid: leader, sid: leader, parent: 1002},
		{pid: worker, pgid: leader, sid: leader, parent: 1003},
		{pid: orphan, pgid: group, sid: session, parent: initOutside},
		{pid: jailed, pgid: group, sid: session, parent: initOutside},
		{pid: other, pgid: other, sid: session, parent: 1001},
	} {
		m.callers[uint32(who.pid)] = who
	}
	m.threads = map[wire.PID]bool{thread: true}
	return m
}

func (m *madeUp) caller(tid uint32) (identity, bool) {
	m.asked++
	return m.find(tid)
}

func (m *madeUp) find(tid uint32) (identity, bool) {
	who, ok := m.callers[tid]
	return who, ok
}

func (m *madeUp) number(tid uint32) (wire.PID, bool) {
	_, ok := m.find(tid)
	return wire.PID(tid), ok || tid == inner
}

func (m *madeUp) user(tid uint32) (uint32, bool) {
	_, ok := m.find(tid)
	return 1000, ok || tid == inner
}

func (m *madeUp) process(pid wire.PID) (identity, bool) {
	who, ok := m.find(uint32(pid))
	who.parent = map[wire.PID]uint32{child: shell, other: shell, worker: leader}[pid]
	return who, ok
}

func (m *madeUp) executed(pid wire.PID) bool { return pid == other }

func (m *madeUp) exists(pid wire.PID) bool {
	_, ok := m.process(pid)
	return ok || m.threads[pid] || pid == helper
}

// ids returns those of a set-user-ID program that 1000 has started, in group 100.
func (m *madeUp) ids(tid uint32, of kind) (ids, bool) {
	return map[kind]ids{users: {1000, 0, 0}, groups: {100, 100, 100}}[of], tid != inner
}

func (m *madeUp) ofJob(tid uint32) bool { return tid == jailed }

func (m *madeUp) weak(uint32) bool { return false }

func (m *madeUp) waits(uint64) bool { return !m.left }

func (m *madeUp) memory(_ uint32, at uintptr, buf []byte) error {
	m.reads++
	if copy(buf, m.bytes[at]) < len(buf) {
		return unix.EFAULT
	}
	return nil
}

func (m *madeUp) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *madeUp) Call(_ context.Context, _ uint64, c *wire.Call) (*wire.Return, error) {
	m.say("call %d of %d: %v", c.Op, c.Caller, c.Args)
	if c.Info != nil {
		m.say("info %x", c.Info[:32])
	}
	return m.answer, m.err
}

func (m *madeUp) Group(_ context.Context, sid, pgid wire.PID) error {
	m.say("group %d in %d", pgid, sid)
	return nil
}

func (m *madeUp) Ours(pid wire.PID) bool     { return pid >= pidmap.Node && pid < pidmap.Node+8192 }
func (m *madeUp) Sync(context.Context) error { m.say("sync"); return m.err }
func (m *madeUp) Shadow(_ context.Context, pid wire.PID, user uint32, flags int) (*os.File, error) {
	m.say("shadow of %d for %d %#x", pid, user, flags)
	return m.shadow, m.err
}

func (m *madeUp) Shadowed(number wire.PID) (wire.PID, bool) {
	return map[wire.PID]wire.PID{shadow: outside}[number], number == shadow
}

func (m *madeUp) pidfd(_ uint32, fd int32) (wire.PID, bool) {
	number, ok := map[int32]wire.PID{3: shadow, 4: child, 5: ending}[fd]
	return number, ok
}
func (m *madeUp) Regroups(pid wire.PID)          { m.say("regroups %d", pid) }
func (m *madeUp) Unsettled() bool                { return m.unsettled }
func (m *madeUp) Settle(context.Context)         { m.say("settle") }
func (m *madeUp) Recredits(pid wire.PID)         { m.say("recredits %d", pid) }
func (m *madeUp) Reaper(pid wire.PID, on bool)   { m.say("reaper %d %v", pid, on) }
func (m *madeUp) Death(pid wire.PID, signal int) { m.say("death %d %d", pid, signal) }

func (m *madeUp) supervisor() *Supervisor {
	launched := new(Launched)
	launched.Begin(shell, outside, session)
	launched.Started(shell)
	launched.Begin(daemon, outside, session)
	launched.Started(daemon)
	launched.Begin(coming, outside, session)
	return &Supervisor{launched: launched, view: m, frontEnd: m}
}

// number returns the native number of a call.
func number(t *testing.T, call filter.Call) int32 {
	t.Helper()
	for nr, c := range filter.ABIs()[0].Calls {
		if c == call {
			return int32(nr)
		}
	}
	t.Fatalf("call %d has no number", call)
	return 0
}

// args makes arguments of a call: ints as a program passes them, with what may be in the bits
// above.
func args(ints ...int64) (a [6]uint64) {
	for i, n := range ints {
		a[i] = uint64(n)
	}
	return a
}

// decided has a call decided to its end. It returns what the front end heard, followed by the
// outcome.
func (m *madeUp) decided(t *testing.T, who uint32, call filter.Call, a [6]uint64) string {
	t.Helper()
	n := &notif{ID: 1, PID: who, Data: seccompData{Nr: number(t, call), Arch: filter.ABIs()[0].Arch, Args: a}}
	v := m.supervisor().decide(n, &eyes{m, initOutside})
	if v.wait != nil {
		v = v.wait(context.Background())
	}
	said := slices.Clone(m.said)
	switch {
	case v.file != nil:
		said = append(said, "a descriptor")
	case v.goOn:
		said = append(said, "go on")
	case v.errno != 0:
		said = append(said, unix.ErrnoName(v.errno))
	default:
		said = append(said, fmt.Sprint(v.value))
	}
	return strings.Join(said, "; ")
}

package space

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// pendingLaunch is a launch that bpinit has not answered.
type pendingLaunch struct {
	pid  wire.PID
	done func(wire.Stage, unix.Errno)
}

// Launch starts a process. streams are its descriptors that are streams, in order. tasks, if not
// nil, is the cgroup.procs file of the cgroup in which the process begins. The caller may close
// them when Launch has returned. The streams are made blocking, as a program expects of its
// standard descriptors.
//
// done is called from the goroutine of Run, before the first call of OnStatus for this process. Its
// stage is 0 when the command executes; otherwise it says what failed, and the number is free
// again. done must not block. It is not called if Launch returns an error. Any number of launches
// may be under way; beyond a thousand, bpinit answers EAGAIN.
func (s *Space) Launch(sp *wire.Spawn, streams []*os.File, tasks *os.File, done func(wire.Stage, unix.Errno)) error {
	fds := make([]int, len(streams), len(streams)+1)
	for i, f := range streams {
		fds[i] = int(f.Fd())
	}
	if tasks != nil {
		fds = append(fds, int(tasks.Fd()))
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return fmt.Errorf("launch %d: %w", sp.PID, ErrGone)
	}
	s.last++
	number := s.last
	s.pending[number] = pendingLaunch{sp.PID, done}
	s.mu.Unlock()

	s.launches.Begin(sp.PID, sp.Parent, sp.SID)
	if err := s.out.send(number, &wire.InitLaunch{Spawn: *sp, Tasks: tasks != nil, View: s.viewOf(sp)}, fds); err != nil {
		if _, ok := s.take(number); ok {
			s.launches.Forget(sp.PID)
			return fmt.Errorf("launch %d: %w", sp.PID, err)
		}
	}
	return nil
}

// viewOf returns the path of the view for a process that sees it as /proc.
func (s *Space) viewOf(sp *wire.Spawn) string {
	if !sp.Command.View {
		return ""
	}
	return s.cfg.View
}

// Resume enters a process that a former daemon has launched: one of PIDs, with its parent and its
// session as in Spawn. It must be called before Run.
func (s *Space) Resume(pid, parent, sid wire.PID) {
	s.launches.Begin(pid, parent, sid)
	if !slices.Contains(s.starting, pid) {
		s.launches.Started(pid)
	}
}

// take removes a launch from pending, so that it is answered once.
func (s *Space) take(number uint64) (pendingLaunch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pending[number]
	delete(s.pending, number)
	return p, ok
}

// answered handles the answer to a launch, of this daemon or (number 0) a former one.
func (s *Space) answered(number uint64, m *wire.InitLaunched) {
	p, ok := pendingLaunch{}, true
	if number != 0 {
		p, ok = s.take(number)
	} else {
		p.done = func(stage wire.Stage, errno unix.Errno) { s.cfg.OnLaunched(m.PID, stage, errno) }
	}
	if !ok {
		s.cfg.Log.Warn("answer to no launch", "pid", m.PID)
		return
	}
	if m.Stage != 0 {
		s.launches.Forget(m.PID)
	} else {
		s.launches.Started(m.PID)
	}
	p.done(m.Stage, unix.Errno(m.Errno))
}

// Group makes process group pgid of the front end exist in session sid of the
// space, so that its processes can join it.
func (s *Space) Group(ctx context.Context, sid, pgid wire.PID) error {
	if err := s.ask(ctx, &wire.InitGroup{SID: sid, PGID: pgid}); err != nil {
		return fmt.Errorf("group %d in session %d: %w", pgid, sid, err)
	}
	return nil
}

// Anchor keeps a group of a session of the front end, which a process of the space leads, from
// being orphaned. It does not wait for that.
func (s *Space) Anchor(sid, pgid wire.PID) error {
	if err := s.out.put(0, &wire.InitGroup{SID: sid, PGID: pgid}); err != nil {
		return fmt.Errorf("anchor of group %d in session %d: %w", pgid, sid, err)
	}
	return nil
}

// HangUp sends SIGHUP to all processes of a session. It does not wait for that.
func (s *Space) HangUp(sid wire.PID) error {
	if err := s.out.put(0, &wire.InitHangUp{SID: sid}); err != nil {
		return fmt.Errorf("hang up session %d: %w", sid, err)
	}
	return nil
}

// Sync returns when all earlier requests have had their effect: signals have been delivered.
func (s *Space) Sync(ctx context.Context) error {
	if err := s.ask(ctx, &wire.InitSync{}); err != nil {
		return fmt.Errorf("wait for init: %w", err)
	}
	return nil
}

// MakeShadow makes a process of the space that stands for a process elsewhere, on behalf of a user,
// unless there is one. It returns a descriptor of it (pidfd_open(2)). Init keeps another one for
// later daemons, under the name of [wire.ShadowName].
func (s *Space) MakeShadow(ctx context.Context, pid wire.PID, user uint32) (*os.File, error) {
	files, err := s.askFor(ctx, &wire.InitShadow{PID: pid, UID: user})
	if err == nil && len(files) != 1 {
		err = wire.ErrFrame
	}
	if err != nil {
		closeAll(files)
		return nil, fmt.Errorf("shadow of %d: %w", pid, err)
	}
	return files[0], nil
}

// answer is the content of an InitDone.
type answer struct {
	errno unix.Errno
	files []*os.File
}

// ask makes a request that InitDone answers, and waits for the answer.
func (s *Space) ask(ctx context.Context, m wire.Message) error {
	files, err := s.askFor(ctx, m)
	closeAll(files)
	return err
}

// askFor is ask for a request whose answer has descriptors.
func (s *Space) askFor(ctx context.Context, m wire.Message) ([]*os.File, error) {
	answers := make(chan answer, 1)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, ErrGone
	}
	s.last++
	number := s.last
	s.asked[number] = answers
	s.mu.Unlock()
	err := s.out.put(number, m)
	if err == nil {
		select {
		case a := <-answers:
			if a.errno != 0 {
				return a.files, a.errno
			}
			return a.files, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, number)
	select {
	case a := <-answers: // it came in this moment
		closeAll(a.files)
	default:
	}
	return nil, err
}

// done handles the answer to a request. Its caller may have stopped waiting.
func (s *Space) done(number uint64, m *wire.InitDone, fds []int) {
	a := answer{errno: unix.Errno(m.Errno)}
	for _, fd := range fds {
		a.files = append(a.files, os.NewFile(uintptr(fd), "shadow"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if answers, ok := s.asked[number]; ok {
		delete(s.asked, number)
		answers <- a
	} else {
		closeAll(a.files)
	}
}

// closeAll closes descriptors that are not needed.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// fail ends the requests that will not be answered.
func (s *Space) fail() {
	s.mu.Lock()
	pending := s.pending
	s.pending = make(map[uint64]pendingLaunch)
	s.ended = true
	for number, answers := range s.asked {
		delete(s.asked, number)
		answers <- answer{errno: unix.ECONNRESET}
	}
	s.mu.Unlock()
	for _, p := range pending {
		p.done(wire.StageSpawn, unix.ECONNRESET)
	}
}

func (s *Space) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Signal sends a signal, with the siginfo of 128 bytes that the front end's kernel made. A process
// that is gone is no error. If the launch of the process is under way the signal waits for it.
func (s *Space) Signal(pid wire.PID, info []byte) error {
	return s.SignalOnce(&wire.Signal{PID: pid, Info: info})
}

// SignalOnce is Signal for a signal of the front end that may have been given before: if its number
// says so, the process does not get it again. SIGKILL is not lost, however much bpinit has to do: the
// ghost has ended, and there will be no other.
func (s *Space) SignalOnce(m *wire.Signal) error {
	put := func(m wire.Message) error { return s.out.put(0, m) }
	if len(m.Info) >= 4 && unix.Signal(binary.NativeEndian.Uint32(m.Info)) == unix.SIGKILL {
		put = s.out.putSurely
	}
	if err := put(&wire.InitSignal{PID: m.PID, Info: m.Info, Seq: m.Seq, Boot: m.Boot}); err != nil {
		return fmt.Errorf("signal %d: %w", m.PID, err)
	}
	return nil
}

// KillAll ends every process of the space except bpinit. Their statuses follow.
func (s *Space) KillAll() error {
	if err := s.Thaw(); err != nil { // a frozen process does not die of its signal
		return err
	}
	if err := s.out.putSurely(&wire.InitKillAll{}); err != nil {
		return fmt.Errorf("kill all: %w", err)
	}
	return nil
}

// Deadline has bpinit end every process at a time, unless it gets another deadline before, whatever
// becomes of this daemon meanwhile.
func (s *Space) Deadline(at time.Time) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return fmt.Errorf("clock_gettime: %w", err)
	}
	if err := s.out.putSurely(&wire.InitDeadline{At: now.Nano() + int64(time.Until(at))}); err != nil {
		return fmt.Errorf("deadline: %w", err)
	}
	return nil
}

// SetParent sets the result of getppid in a process that was started from the front end. Launch
// does this for each process, and the end of the process undoes it.
func (s *Space) SetParent(pid, parent wire.PID) { s.launches.SetParent(pid, parent) }

// Parent returns the parent on the front end of a process that was started from there; 0: it was
// not, or the parent is not known.
func (s *Space) Parent(pid wire.PID) wire.PID { return s.launches.Parent(pid) }

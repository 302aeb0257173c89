package space

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/slave/pid1/supervise"
	"bproc/wire"
)

// ErrGone is the error of Run when the space has ended: bpinit is gone, and
// every process with it.
var ErrGone = errors.New("the process space is gone")

// Space is a process space.
type Space struct {
	cfg       Config
	container *libcontainer.Container
	initPID   int
	pidfd     int // of bpinit; -1: not known
	inode     uint32
	identity  uint64
	proc      *os.File
	conn      *rights.Conn
	out       outbound
	pids      []wire.PID
	starting  []wire.PID
	kept      map[string][]*os.File
	launches  supervise.Launched

	listener   int // of seccomp; -1: none
	cursor     cursor
	former     bool // init is of the version before, and has no pipe for the cursor
	calls      int  // the table of the supervisor's calls; -1: none
	supervisor *supervise.Supervisor

	running sync.Mutex // held by Run; routines that close what Run uses wait for its end

	mu      sync.Mutex
	pending map[uint64]pendingLaunch // by number of the request
	asked   map[uint64]chan<- answer // waiting callers of other requests, by number
	last    uint64
	ended   bool // Run has returned
}

func newSpace(cfg Config) *Space {
	s := &Space{cfg: cfg, pidfd: -1, listener: -1, calls: -1, pending: make(map[uint64]pendingLaunch), asked: make(map[uint64]chan<- answer)}
	s.out.write = func(number uint64, m wire.Message, fds ...int) error { return s.conn.Write(number, m, fds...) }
	return s
}

// NSInode returns the inode number of the PID namespace, which tells its processes from others.
func (s *Space) NSInode() uint32 { return s.inode }

// InitPID returns the number that bpinit has outside the space.
func (s *Space) InitPID() int { return s.initPID }

// Proc returns the space's own /proc, in which directories have the numbers of the cluster. It is
// open until Destroy or Close; use it with openat(2), or through /proc/self/fd.
func (s *Space) Proc() *os.File { return s.proc }

// PIDs returns the children of bpinit that were alive when this daemon connected, and launched
// processes that have ended and are not forgotten: OnStatus follows for the latter.
func (s *Space) PIDs() []wire.PID { return slices.Clone(s.pids) }

// Starting returns those of PIDs whose launch was under way when this daemon
// connected. OnLaunched follows.
func (s *Space) Starting() []wire.PID { return slices.Clone(s.starting) }

// Run serves the space until ctx ends or the space does. It closes the connection to bpinit, so it
// can be called once; the space lives on, and the next Create finds it. Launches that are not
// answered by then are done with ECONNRESET: they may or may not have happened.
func (s *Space) Run(ctx context.Context) error {
	s.running.Lock()
	defer s.running.Unlock()
	if s.hasEnded() {
		return ErrGone
	}
	defer s.fail()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.read(ctx) })
	g.Go(func() error { return s.supervisor.Run(ctx) })
	g.Go(func() error {
		<-ctx.Done() // read never returns without an error
		_ = s.conn.Close()
		return s.supervisor.Stop()
	})
	return g.Wait()
}

// read is the reader of bpinit's frames.
func (s *Space) read(ctx context.Context) error {
	for {
		m, number, fds, err := s.conn.Read()
		if d, ok := m.(*wire.InitDone); ok && err == nil && ctx.Err() == nil {
			s.done(number, d, fds)
			continue
		}
		rights.Close(fds)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
		switch m := m.(type) {
		case *wire.InitLaunched:
			s.answered(number, m)
		case *wire.InitStatus:
			s.status(m)
		default:
			return fmt.Errorf("%w: type %d from init", wire.ErrFrame, m.Type())
		}
	}
}

func (s *Space) status(m *wire.InitStatus) {
	if status := unix.WaitStatus(m.Status); status.Exited() || status.Signaled() {
		s.launches.Forget(m.PID)
	}
	s.cfg.OnStatus(m)
}

// Close closes what this process has open of the space, which lives on. It ends Run, and so must
// not be called from a callback. The same holds for Destroy.
func (s *Space) Close() error {
	s.fail()
	return s.closeFiles()
}

func (s *Space) closeFiles() error {
	var errs []error
	if s.conn != nil {
		_ = s.conn.Close() // Run may have done so; its end stops the supervisor
		s.out.close()
	}
	s.running.Lock()
	defer s.running.Unlock()
	s.closeKept()
	if s.supervisor != nil {
		errs = append(errs, s.supervisor.Close())
		s.supervisor = nil
	}
	errs = append(errs, s.cursor.close())
	for _, fd := range []*int{&s.listener, &s.calls} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	if s.proc != nil {
		errs = append(errs, s.proc.Close())
		s.proc = nil
	}
	if s.pidfd >= 0 {
		errs = append(errs, unix.Close(s.pidfd))
		s.pidfd = -1
		// If bpinit has ended and is a child of this process, it is a zombie now.
		_, _ = unix.Wait4(s.initPID, nil, unix.WNOHANG, nil)
	}
	return errors.Join(errs...)
}

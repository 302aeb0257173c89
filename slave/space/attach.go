package space

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/opencontainers/runc/libcontainer"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// Time limits for bpinit's first frame, and for the end of a bpinit that is being killed.
const (
	readyTimeout = 10 * time.Second
	dyingTimeout = 2 * time.Second
)

// errNoSpace says that there is no living space in a directory.
var errNoSpace = errors.New("no process space")

// attach returns the living space of a directory. It removes what a dead one left there.
func attach(ctx context.Context, cfg Config) (*Space, error) {
	s := newSpace(cfg)
	var err error
	s.container, err = libcontainer.Load(cfg.stateDir(), cfg.Name)
	switch {
	case errors.Is(err, libcontainer.ErrNotExist), errors.Is(err, os.ErrNotExist):
		if err := removeUnfinished(ctx, cfg); err != nil {
			return nil, fmt.Errorf("space %s: %w", cfg.Name, err)
		}
		return nil, errNoSpace
	case err != nil:
		return nil, fmt.Errorf("load space %s: %w", cfg.Name, err)
	}
	alive, err := s.revive()
	if err != nil && s.stops() {
		alive, err = false, nil // it was dying
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach to space %s: %w", cfg.Name, err), s.closeFiles())
	}
	if alive && !s.isAtHome() {
		cfg.Log.Warn("process space is of another cluster, or of another node; its processes are killed")
		alive = false
	}
	if !alive {
		return nil, s.clear(ctx)
	}
	if err := s.connect(ctx); err != nil {
		if s.endsSoon() {
			return nil, s.clear(ctx)
		}
		return nil, errors.Join(fmt.Errorf("attach to space %s: %w", cfg.Name, err), s.closeFiles())
	}
	return s, nil
}

// isAtHome reports whether a space that was found has this node's home: its filter lets calls about
// those numbers pass.
func (s *Space) isAtHome() bool {
	return slices.Contains(s.container.Config().Labels, s.cfg.homeLabel())
}

// clear removes a dead space.
func (s *Space) clear(ctx context.Context) error {
	if err := s.Destroy(ctx); err != nil {
		return err
	}
	return errNoSpace
}

// stops reports whether the init of a space that could not be revived ends within dyingTimeout.
func (s *Space) stops() bool {
	for deadline := time.Now().Add(dyingTimeout); time.Now().Before(deadline); time.Sleep(look) {
		if status, err := s.container.Status(); err == nil && status == libcontainer.Stopped {
			return true
		}
	}
	return false
}

// look is the pause before another look at an init that is dying.
const look = time.Millisecond

// endsSoon reports whether bpinit, which did not answer, is about to end. If it lives on, another
// daemon may have taken the place of this one.
func (s *Space) endsSoon() bool {
	for deadline := time.Now().Add(dyingTimeout); time.Now().Before(deadline); time.Sleep(look) {
		if !s.alive() {
			return true
		}
	}
	return false
}

// revive reports whether the init of a space that was found is alive. It thaws the space, which a
// daemon that died may have frozen.
func (s *Space) revive() (bool, error) {
	state, err := s.container.State()
	if err != nil {
		return false, err
	}
	thawed := s.Thaw() // Status waits for the end of freezing
	status, err := s.container.Status()
	switch {
	case err != nil || status == libcontainer.Stopped:
		return false, err
	case thawed != nil:
		return false, thawed
	}
	if err := s.identify(state.InitProcessPid); err != nil {
		return false, err
	}
	// libcontainer compares the start time: if init is still alive now, the descriptors opened in
	// between are its own and not those of a later process. An init in state Created only waits for
	// a daemon that was killed to let it begin.
	status, err = s.container.Status()
	return err == nil && status != libcontainer.Stopped && status != libcontainer.Created, err
}

// connect connects to bpinit and takes its first frame.
func (s *Space) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var d net.Dialer
	sock, err := d.DialContext(ctx, "unix", s.cfg.socket())
	if err != nil {
		return err
	}
	c, err := rights.New(sock.(*net.UnixConn))
	if err != nil {
		return err
	}
	if err := s.ready(ctx, c); err != nil {
		return errors.Join(err, c.Close())
	}
	s.conn = c
	return nil
}

// ready reads the first frames of init. If ctx ends, the connection must not be used any more.
func (s *Space) ready(ctx context.Context, c *rights.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	err := s.begin(c)
	if !stop() { // the deadline has been set, or will be in a moment
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("first frames of init (see %s): %w", s.cfg.log(), err)
	}
	return nil
}

func (s *Space) begin(c *rights.Conn) error {
	m, _, fds, err := c.Read()
	if err != nil {
		return err
	}
	ready, ok := m.(*wire.InitReady)
	if !ok || len(fds) != 2 && len(fds) != 3 {
		rights.Close(fds)
		return fmt.Errorf("%w: init begins with type %d and %d descriptors", wire.ErrFrame, m.Type(), len(fds))
	}
	s.pids, s.starting = ready.PIDs, ready.Starting
	s.listener, s.calls = fds[0], fds[1]
	if s.former = len(fds) == 2; !s.former {
		s.cursor.pipe = fds[2]
	}
	if err := s.receiveKept(c, ready.Stored); err != nil {
		return err
	}
	s.supervisor, err = s.supervise()
	return err
}

package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/ghost"
	"bproc/internal/giveback"
	"bproc/internal/service"
	"bproc/master/store"
	"bproc/wire"
	"bproc/wire/link"
)

// inputQueue bounds the inputs that wait for the core. Whoever puts one more
// in waits, and with it the peer that it reads from.
const inputQueue = 1024

// Master is the daemon of the front end.
type Master struct {
	cfg       Config
	log       *slog.Logger
	lock      *os.File
	state     *store.Store
	authority *link.Authority
	nodes     *nodeTable
	blocks    *blockTable
	inputs    chan func(*core)
	slaves    errgroup.Group
	viewers   viewers
	births    *births // the core's
	seats     *seats
	loads     loads
	here      *here
	keeper    atomic.Pointer[keeperConn] // the last
	last      atomic.Bool                // the keeper is told to end
	memory    giveback.Giver

	startKeeper func(context.Context, Config) (*ghost.Client, error)
}

// New makes sure that this is the only master and reads what it needs from its state
// directory, which is made if there is none.
func New(cfg Config, log *slog.Logger) (*Master, error) {
	for dir, mode := range map[string]os.FileMode{cfg.State: 0o700, cfg.Runtime: 0o755} {
		if err := os.MkdirAll(dir, mode); err != nil {
			return nil, fmt.Errorf("directory of the master: %w", err)
		}
	}
	m := &Master{cfg: cfg, log: log, inputs: make(chan func(*core), inputQueue), seats: newSeats(descriptors()), startKeeper: startKeeper}
	if err := m.open(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *Master) open() (err error) {
	if m.lock, err = lockSocket(m.cfg.Socket); err != nil {
		return err
	}
	if m.state, err = store.Open(m.cfg.State, m.log); err != nil {
		return err
	}
	if m.authority, err = link.OpenAuthority(m.state.Table(store.Authority), m.state.Table(store.Tokens)); err != nil {
		return err
	}
	m.authority.Life = m.cfg.Certificate
	if m.nodes, err = loadNodes(m.state.Table(store.Nodes), m.cfg.Nodes, time.Now()); err != nil {
		return err
	}
	m.blocks, err = loadBlocks(m.state.Table(store.Blocks))
	return err
}

func (m *Master) close() (err error) {
	if m.state != nil {
		err = m.state.Close()
	}
	if m.lock != nil {
		m.lock.Close()
	}
	return err
}

// Run serves until the context ends. A master runs once.
func (m *Master) Run(ctx context.Context) error {
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() {
		defer end()
		service.Stopping()
		m.endAll(serving)
	})
	defer stop()
	err := m.serve(serving)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, m.close())
}

func (m *Master) serve(ctx context.Context) error {
	keeper, err := m.connectKeeper(ctx, wasKilled)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if m.here, err = m.newHere(ctx); err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	defer m.here.close(m.log)
	slaves, err := link.Listen(link.ListenConfig{
		Addr: m.cfg.Listen, Authority: m.authority, Lease: m.cfg.Lease, Opening: m.seats.silent, Release: m.cfg.Release, Log: m.log,
		Joined: func(key, host string, want wire.NodeID, name string) (wire.Block, error) {
			return m.joined(ctx, key, host, want, name)
		},
		Admit:  func(peer link.Peer) error { return m.admit(ctx, peer.Key) },
		Accept: func(peer link.Peer, s *link.Session) { m.accept(ctx, peer, s) },
	})
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	clients, err := m.listenClients()
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	alloc, err := m.nodes.allocator(m.cfg.BlockSize)
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	if err := m.blocks.reserve(alloc); err != nil {
		m.log.Error("not all numbers can be kept for the nodes that have them", "err", err)
	}
	core := newCore(m.log, m.cfg.Lease, m.nodes, alloc, keeper.out)
	core.blocks, core.authority = m.blocks, m.authority
	m.births = core.births
	core.squash = cmp.Or(m.cfg.Squash, core.squash)
	core.tasks, core.ghosts = openTaskTree(m.log), m.cfg.Ghosts
	ends := &follower{post: m.post}
	core.atEnd = func(f *os.File, ended func()) { ends.follow(ctx, f, ended) }
	group.Go(func() error { return m.coreLoop(ctx, core, keeper) })
	group.Go(func() error { return m.work(ctx, core.jobs) })
	group.Go(func() error { return m.keep(ctx, keeper) })
	group.Go(func() error { return slaves.Run(ctx) })
	group.Go(func() error { return m.serveClients(ctx, clients) })
	group.Go(func() error { return service.Watch(ctx, func() { m.meetCore(ctx) }) })
	m.log.Info("master is ready", "addr", slaves.Addr().String(), "socket", m.cfg.Socket)
	service.Ready()
	err = group.Wait()
	_ = m.slaves.Wait() // slaves' goroutines report to the log
	ends.group.Wait()
	return err
}

// lockSocket makes sure that one master serves a socket. The lock ends with the
// process, however it ends.
func lockSocket(socket string) (*os.File, error) {
	path := socket + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the master's socket: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another master serves %s already", socket)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// coreLoop is the one goroutine that touches the core.
func (m *Master) coreLoop(ctx context.Context, c *core, keeper *keeperConn) error {
	c.begun(time.Now())
	c.boot = keeper.client.Boot()
	c.foundGhosts(keeper.client.Held(), keeper.client.Stopped(), keeper.client.Adopted(), time.Now())
	c.killed(keeper.client.Killed())
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	news := time.NewTimer(soon)
	defer news.Stop()
	for waits := true; ; { // for news
		if !waits && c.hasNews() {
			waits = true
			news.Reset(soon)
		}
		select {
		case input := <-m.inputs:
			input(c)
		case now := <-ticker.C:
			c.tick(now)
		case <-news.C:
			waits = false
			c.tellNews()
		case <-ctx.Done():
			return nil
		}
	}
}

// post gives the core an input; none once the context, which ends before the core
// does, has ended: what connections say at the end of the master is not to be
// taken for what their peers say.
func (m *Master) post(ctx context.Context, input func(*core)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case m.inputs <- input:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do gives the core an input and waits until it is handled.
func (m *Master) do(ctx context.Context, input func(*core)) error {
	done := make(chan struct{})
	if err := m.post(ctx, func(c *core) { input(c); close(done) }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// meetCore returns when the core has handled all inputs so far, or the context ends.
func (m *Master) meetCore(ctx context.Context) { _ = m.do(ctx, func(*core) {}) }

// listenClients makes the socket for clients. Everybody may connect; who is
// there, the kernel says. It takes the place of that of a former master, and stays
// behind without anybody who listens: that tells clients to wait for the next.
func (m *Master) listenClients() (*net.UnixListener, error) {
	next := m.cfg.Socket + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of a former master: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: next, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket for clients: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(next, 0o666); err == nil {
		err = os.Rename(next, m.cfg.Socket)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket for clients: %w", err), l.Close())
	}
	return l, nil
}

func (m *Master) serveClients(ctx context.Context, l *net.UnixListener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var conns errgroup.Group
	defer conns.Wait() //nolint:errcheck // the goroutines report to the log
	for {
		conn, err := l.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			m.log.Error("a client could not be accepted", "err", err)
			if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) && !errors.Is(err, unix.ECONNABORTED) {
				return fmt.Errorf("socket for clients: %w", err)
			}
			time.Sleep(50 * time.Millisecond) // until descriptors are free again
			continue
		}
		who, err := peerOf(conn)
		if err != nil {
			m.log.Error("a client was refused", "err", err)
			conn.Close()
			continue
		}
		spoken := m.seats.crowd.Enter(who.uid, func() { conn.Close() })
		conns.Go(func() error {
			defer m.memory.Soon()
			defer spoken()
			(&clientConn{m: m, log: m.log, conn: conn, who: who, spoken: spoken}).serve(ctx)
			return nil
		})
	}
}

package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/pidmap"
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
	authority *link.Authority
	nodes     *nodeTable
	inputs    chan func(*core)
	slaves    errgroup.Group
}

// New reads what the master needs from its state directory, which is made if
// there is none.
func New(cfg Config, log *slog.Logger) (*Master, error) {
	for dir, mode := range map[string]os.FileMode{cfg.State: 0o700, cfg.Runtime: 0o755} {
		if err := os.MkdirAll(dir, mode); err != nil {
			return nil, fmt.Errorf("directory of the master: %w", err)
		}
	}
	authority, err := link.OpenAuthority(filepath.Join(cfg.State, "authority"))
	if err != nil {
		return nil, err
	}
	nodes, err := loadNodes(filepath.Join(cfg.State, "nodes.json"), cfg.Nodes, time.Now())
	if err != nil {
		return nil, err
	}
	return &Master{
		cfg: cfg, log: log, authority: authority, nodes: nodes,
		inputs: make(chan func(*core), inputQueue),
	}, nil
}

// Run serves until the context ends.
func (m *Master) Run(ctx context.Context) error {
	if err := m.serve(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

func (m *Master) serve(ctx context.Context) error {
	lock, err := m.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	keeper, err := m.connectKeeper(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	slaves, err := link.Listen(link.ListenConfig{
		Addr: m.cfg.Listen, Authority: m.authority, Lease: m.cfg.Lease, Log: m.log,
		Joined: func(key, host string, want wire.NodeID, name string) error {
			return m.joined(ctx, key, host, want, name)
		},
		Accept: func(peer link.Peer, s *link.Session) { m.accept(ctx, peer, s) },
	})
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	clients, err := m.listenClients()
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	alloc := pidmap.NewAllocator(pidmap.Config{BlockSize: m.cfg.BlockSize})
	core := newCore(m.log, m.cfg.Lease, m.nodes, alloc, keeper.out)
	group.Go(func() error { return m.coreLoop(ctx, core, keeper) })
	group.Go(func() error { return m.work(ctx, core.jobs) })
	group.Go(func() error { return m.keep(ctx, keeper) })
	group.Go(func() error { return slaves.Run(ctx) })
	group.Go(func() error { return m.serveClients(ctx, clients) })
	m.log.Info("master is ready", "addr", slaves.Addr().String(), "socket", m.cfg.Socket)
	// Without systemd there is nobody to notify, and that is no error.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	err = group.Wait()
	_ = m.slaves.Wait() // slaves' goroutines report to the log
	return err
}

// lock makes sure that one master serves a socket. The lock ends with the
// process, however it ends.
func (m *Master) lock() (*os.File, error) {
	path := m.cfg.Socket + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the master's socket: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another master serves %s already", m.cfg.Socket)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// coreLoop is the one goroutine that touches the core.
func (m *Master) coreLoop(ctx context.Context, c *core, keeper *keeperConn) error {
	c.foundGhosts(keeper.client.Held(), time.Now())
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

// joined gives a node that has joined its number.
func (m *Master) joined(ctx context.Context, key, host string, want wire.NodeID, name string) error {
	if name == "" {
		name = host
	}
	var n *node
	var joinErr error
	if err := m.do(ctx, func(c *core) { n, joinErr = c.nodes.join(key, want, name, time.Now()) }); err != nil || joinErr != nil {
		return errors.Join(err, joinErr)
	}
	m.log.Info("node has joined", "node", n.ID, "name", n.Name)
	return nil
}

// listenClients makes the socket for clients. Everybody may connect; who is
// there, the kernel says.
func (m *Master) listenClients() (*net.UnixListener, error) {
	if err := os.Remove(m.cfg.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of a former master: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: m.cfg.Socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket for clients: %w", err)
	}
	if err := os.Chmod(m.cfg.Socket, 0o666); err != nil {
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
		conns.Go(func() error {
			m.client(ctx, conn)
			return nil
		})
	}
}

func (m *Master) client(ctx context.Context, conn *net.UnixConn) {
	who, err := peerOf(conn)
	if err != nil {
		m.log.Error("a client was refused", "err", err)
		conn.Close()
		return
	}
	(&clientConn{m: m, log: m.log, conn: conn, who: who}).serve(ctx)
}

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
	"bproc/internal/flock"
	"bproc/internal/giveback"
	"bproc/internal/recording"
	"bproc/internal/service"
	"bproc/master/core"
	"bproc/master/nodeup"
	"bproc/master/store"
	"bproc/wire"
	"bproc/wire/link"
)

// Master is the daemon of the front end.
type Master struct {
	cfg        Config
	log        *slog.Logger
	locks      []*os.File
	store      *store.Store
	authority  *link.Authority
	state      *state
	kernel     kernel
	taskGroups *taskGroups
	slow       *worker
	writer     *worker
	exits      exits
	clientEnds clientEnds
	slaves     errgroup.Group
	newcomers  newcomers
	viewers    viewers
	bypasses   bypasses
	births     *births
	nodeWatch  nodeWatch
	names      *names
	reading    chan struct{} // full while many nodes are asked what they are
	nodes      *nodeup.Runner
	seats      *seats
	cuts       *cuts
	loads      loads // of requests
	answers    loads // of lists, and of looks from nodes
	here       *here
	reloads    reloads
	keeper     atomic.Pointer[keeperConn] // the last
	last       atomic.Bool                // the keeper is told to end
	memory     giveback.Giver

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
	m := &Master{
		cfg: cfg, log: log, seats: newSeats(descriptors()), births: newBirths(time.Now()), names: newNames(), slow: newWorker(), writer: newWorker(), cuts: newCuts(),
		reading: make(chan struct{}, maxReading), startKeeper: startKeeper,
	}
	m.reloads.current = cfg
	if err := m.open(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *Master) open() (err error) {
	if err = m.lock(); err != nil {
		return err
	}
	if m.store, err = store.Open(m.cfg.State, m.log); err != nil {
		return err
	}
	if m.authority, err = link.OpenAuthority(m.store.Table(store.Authority), m.store.Table(store.Tokens)); err != nil {
		return err
	}
	m.authority.Life = m.cfg.Certificate
	m.taskGroups = openTaskGroups(m.log)
	m.nodes = m.newRunner()
	m.state, err = m.newState(map[core.Table]records{core.Nodes: m.store.Table(store.Nodes), core.Blocks: m.store.Table(store.Blocks)})
	return err
}

// newState returns the core, with what was kept, and no connection yet.
func (m *Master) newState(tables map[core.Table]records) (*state, error) {
	nodes, err := tables[core.Nodes].All()
	if err != nil {
		return nil, fmt.Errorf("node table: %w", err)
	}
	blocks, err := tables[core.Blocks].All()
	if err != nil {
		return nil, fmt.Errorf("blocks of numbers: %w", err)
	}
	cfg := core.Config{
		Now: time.Now(), Lease: m.cfg.Lease, Numbers: m.cfg.Numbers, Nodes: nodes, Blocks: blocks,
		Squash: m.cfg.Squash, Certificate: cmp.Or(m.cfg.Certificate, link.DefaultLife),
		TaskGroups: m.taskGroups.tree != nil, Ghosts: m.cfg.Ghosts, MaxEnds: roomForEnds(),
		SetUp: m.cfg.SetUp != "", PowerTime: m.cfg.PowerTime,
	}
	cfg.Named, cfg.Rights = m.cfg.named(), m.cfg.rights()
	var ring *recording.Ring
	if m.cfg.Record != "" {
		if ring, err = recording.NewRing(m.cfg.Record, func(err error) { m.log.Warn("inputs are not recorded any more", "err", err) }); err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
	}
	ring.Begin(cfg.Now, cfg)
	c, err := core.New(cfg)
	if err != nil {
		return nil, err
	}
	s := &state{m: m, core: c, ring: ring, tables: tables, sessions: map[core.Session]*slaveConn{}, clients: map[core.Client]*clientConn{}, soon: time.NewTimer(soon)}
	s.soon.Stop()
	return s, nil
}

func (m *Master) close() (err error) {
	if m.store != nil {
		err = m.store.Close()
	}
	for _, f := range m.locks {
		f.Close()
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
	if m.here, err = m.newHere(); err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	defer m.here.close(m.log)
	slaves, err := link.Listen(link.ListenConfig{
		Addr: m.cfg.Listen, Authority: m.authority, Lease: m.cfg.Lease, Interval: m.cfg.interval(), Opening: m.seats.silent, Waiting: m.seats.waiting, Release: m.cfg.Release, Log: m.log,
		Joined: func(j link.Joining) (wire.NodeID, wire.Block, error) {
			return m.joined(ctx, core.Join{Identity: j.Key, Host: j.Host, Addr: j.Addr, Want: j.Node, Name: j.Name, Again: j.Again})
		},
		Admit:  func(peer link.Peer) error { return m.admit(ctx, peer.Key) },
		Bypass: m.bypasses.take,
		Accept: func(peer link.Peer, s *link.Session) { m.accept(ctx, peer, s) },
	})
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	clients, err := m.listenClients()
	if err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	first := core.KeeperFound{Boot: keeper.client.Boot(), Held: heldBy(keeper.client, m.kernel), Stopped: keeper.client.Stopped(), Killed: keeper.client.Killed()}
	if err := m.state.keeperIs(ctx, keeper, first); err != nil {
		return errors.Join(err, keeper.client.Close())
	}
	group.Go(func() error { return m.state.keepTime(ctx) })
	group.Go(func() error { return m.slow.run(ctx) })
	group.Go(func() error { return m.writer.run(ctx) })
	group.Go(func() error { return m.cuts.run(ctx) })
	group.Go(func() error { return m.nodes.Run(ctx) })
	group.Go(func() error { return m.tellNames(ctx) })
	group.Go(func() error { return m.reloadAtSignals(ctx) })
	group.Go(func() error { return m.keep(ctx, keeper) })
	group.Go(func() error { return slaves.Run(ctx) })
	group.Go(func() error { return m.serveClients(ctx, clients) })
	group.Go(func() error { return service.Watch(ctx, func() { m.state.look(func(*core.Core) {}) }) })
	m.log.Info("master is ready", "addr", slaves.Addr().String(), "socket", m.cfg.Socket)
	service.Ready()
	err = group.Wait()
	_ = m.slaves.Wait() // slaves' goroutines report to the log
	m.exits.group.Wait()
	m.clientEnds.group.Wait()
	return err
}

// lock makes sure that one master serves a socket, and that one has the machine's keeper and with it all ghosts.
func (m *Master) lock() error {
	path := m.cfg.Socket + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("lock of the master's socket: %w", err)
	}
	if err := m.take(f, fmt.Sprintf("another master serves %s already", m.cfg.Socket)); err != nil {
		return err
	}
	if f, err = os.Open(m.cfg.Runtime); err != nil {
		return fmt.Errorf("lock of the master's directory: %w", err)
	}
	return m.take(f, fmt.Sprintf("another master runs on this machine already: it has the keeper in %s, and one master has all ghosts", m.cfg.Runtime))
}

// take takes the lock of an open file, which is closed with the master.
func (m *Master) take(f *os.File, taken string) error {
	m.locks = append(m.locks, f)
	err := flock.Take(f)
	if errors.Is(err, flock.ErrTaken) {
		return errors.New(taken)
	}
	return err
}

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
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("socket for clients: %w", err)
			}
			time.Sleep(50 * time.Millisecond) // until there are descriptors, or memory, again
			continue
		}
		who, err := peerOf(conn)
		if err != nil {
			m.log.Error("a client was refused", "err", err)
			conn.Close()
			continue
		}
		asking, turn := context.WithCancel(ctx)
		spoken := m.seats.crowd.Enter(who.UID, func() { turn(); conn.Close() })
		conns.Go(func() error {
			defer m.memory.Soon()
			defer turn()
			defer spoken()
			(&clientConn{m: m, log: m.log, conn: conn, who: who, spoken: spoken, steps: make(chan step, maxSteps)}).serveAsked(ctx, asking)
			return nil
		})
	}
}

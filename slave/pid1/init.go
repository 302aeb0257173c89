package pid1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/slave/pid1/rights"
	"bproc/slave/pid1/supervise"
	"bproc/wire"
)

// maxLaunches bounds the launches that are under way. One takes as long as
// opening the command's files takes, which for a named pipe or a server of
// files that is away can be forever; each takes a thread.
const maxLaunches = 1024

// initPID is the number that init has in its space.
const initPID wire.PID = 1

// acceptPause is waited before accepting again when there were no descriptors
// or no memory for a connection.
const acceptPause = 100 * time.Millisecond

// Config is what an Init needs.
type Config struct {
	Listener *net.UnixListener // where daemons connect
	Notify   int               // the seccomp listener that each daemon gets; -1: none
	Cookie   uint64            // with which calls of init's own pass its filter
	Log      *slog.Logger
}

// Init is the init of a process space.
type Init struct {
	cfg      Config
	null     *os.File // /dev/null
	cursor   *os.File // /proc/sys/kernel/ns_last_pid of the space
	limit    *os.File // /proc/sys/kernel/pid_max of the space
	resetOOM bool     // init's oom_score_adj is not what processes shall have
	slots    chan struct{}
	launches launches
	order    order
	standins standins
	name     *[16]byte // of init, for prctl(2)
	parents  supervise.Launched
	deputy   *supervise.Supervisor // for while no daemon is there; nil without a listener
	newest   atomic.Pointer[rights.Conn]
	children chan struct{} // there may be children again
	deadline deadline
}

// New returns an Init. It opens what it needs and starts nothing.
func New(cfg Config) (*Init, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	cursor, err := os.OpenFile(cursorFile, os.O_WRONLY, 0)
	if err != nil {
		_ = null.Close()
		return nil, fmt.Errorf("allocation cursor (CONFIG_CHECKPOINT_RESTORE): %w", err)
	}
	limit, err := os.OpenFile(pidMaxFile, os.O_WRONLY, 0)
	if err != nil {
		_, _ = null.Close(), cursor.Close()
		return nil, fmt.Errorf("limit of process numbers: %w", err)
	}
	in := &Init{
		cfg:      cfg,
		null:     null,
		cursor:   cursor,
		limit:    limit,
		resetOOM: oomScoreAdj() != "0",
		slots:    make(chan struct{}, maxLaunches),
		children: make(chan struct{}, 1),
		name:     commName(name),
	}
	in.launches.init()
	in.deadline.moved = make(chan struct{}, 1)
	in.standins.init(cfg.Log, cfg.Cookie, in.childBorn, in.limitAgain)
	in.order.init(in.dismiss)
	if cfg.Notify >= 0 {
		if in.deputy, err = supervise.New(supervise.Config{Listener: cfg.Notify, Level: supervise.Inside, Launched: &in.parents}); err != nil {
			return nil, errors.Join(err, in.close())
		}
	}
	return in, nil
}

// Run serves daemons until the listener fails or ctx ends. It must run in one
// Init of a process only, since it reaps all children of the process. When ctx
// ends while there are children, it returns after the next of them has.
func (in *Init) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return in.accept(ctx, g) })
	g.Go(func() error { return in.reap(ctx) })
	g.Go(func() error { return in.standins.tidy(ctx) })
	g.Go(func() error { return in.supervise(ctx) })
	g.Go(func() error { return in.expire(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		in.order.close()
		return in.cfg.Listener.Close()
	})
	err := g.Wait()
	return errors.Join(err, in.close())
}

func (in *Init) close() error {
	errs := []error{in.null.Close(), in.cursor.Close(), in.limit.Close()}
	if in.deputy != nil {
		errs = append(errs, in.deputy.Close())
	}
	return errors.Join(errs...)
}

// accept gives each new connection a reader and closes the one before it.
func (in *Init) accept(ctx context.Context, g *errgroup.Group) error {
	defer func() {
		if c := in.newest.Load(); c != nil {
			_ = c.Close()
		}
	}()
	for {
		sock, err := in.cfg.Listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		case err != nil:
			in.cfg.Log.Warn("cannot accept a daemon", "err", err)
			time.Sleep(acceptPause)
			continue
		}
		c := rights.New(sock)
		if uid, err := c.PeerUID(); err != nil || uid != 0 {
			in.cfg.Log.Warn("refused a peer that is not root", "uid", uid, "err", err)
			_ = c.Close()
			continue
		}
		if old := in.newest.Swap(c); old != nil {
			_ = old.Close()
		}
		g.Go(func() error { in.serve(g, c); return nil })
	}
}

// serve reads the requests of one daemon.
func (in *Init) serve(g *errgroup.Group, c *rights.Conn) {
	defer in.order.leave(c)
	if err := in.greet(c); err != nil {
		in.cfg.Log.Warn("daemon gone before it was greeted", "err", err)
		return
	}
	for {
		m, number, fds, err := c.Read()
		if err == nil {
			err = in.request(g, c, m, number, fds)
		}
		if err != nil {
			in.cfg.Log.Info("daemon gone", "err", err)
			return
		}
	}
}

// greet makes c the connection that statuses go to.
func (in *Init) greet(c *rights.Conn) error {
	return in.order.enter(c, func() error {
		if in.newest.Load() != c {
			return net.ErrClosed // replaced before it had its turn
		}
		pids, err := in.aliveLocked()
		if err != nil {
			return err
		}
		ready := &wire.InitReady{PIDs: pids}
		if in.cfg.Notify < 0 {
			return c.Write(0, ready)
		}
		return c.Write(0, ready, in.cfg.Notify)
	})
}

// request carries out one request, or starts to.
func (in *Init) request(g *errgroup.Group, c *rights.Conn, m wire.Message, number uint64, fds []int) error {
	if m.Type() != wire.TypeInitLaunch {
		rights.Close(fds)
	}
	switch m := m.(type) {
	case *wire.InitLaunch:
		in.begin(g, c, number, m, fds)
	case *wire.InitSignal:
		in.signal(m)
	case *wire.InitCursor:
		return in.moveCursor(m.Next)
	case *wire.InitKillAll:
		in.killAll()
	case *wire.InitDeadline:
		in.deadline.move(m.At)
	case *wire.InitGroup:
		in.beginGroup(g, c, number, m)
	case *wire.InitSync:
		// The frames before it were carried out one after the other. Launches and
		// groups, which are only begun then, have answers of their own.
		in.order.reply(c, number, done(0))
	default:
		return fmt.Errorf("%w: type %d is not for init", wire.ErrFrame, m.Type())
	}
	return nil
}

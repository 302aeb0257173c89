package pid1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"bproc/internal/crowd"
	"bproc/slave/pid1/rights"
	"bproc/slave/pid1/supervise"
	"bproc/wire"
)

// maxLaunches bounds the launches that are under way. A launch takes as long as opening the
// command's files, which can be forever for a named pipe or a file server that is away; each takes
// a thread. No user takes all places, and a launch with a long command takes more than one.
const (
	maxLaunches = 1024
	placeSize   = 256 << 10 // bytes of a command
)

// ownRequest stands for the daemon itself where users have their numbers.
const ownRequest = -1

// initPID is the number that init has in its space.
const initPID wire.PID = 1

// Config is what an Init needs.
type Config struct {
	Listener *net.UnixListener // where daemons connect
	Notify   int               // the seccomp listener that each daemon gets; -1: none
	Cookie   uint64            // lets init's own calls pass its filter
	Log      *slog.Logger
}

// Init is the init of a process space.
type Init struct {
	cfg      Config
	null     *os.File             // /dev/null
	cursor   *os.File             // /proc/sys/kernel/ns_last_pid of the space
	limit    *os.File             // /proc/sys/kernel/pid_max of the space
	resetOOM bool                 // processes must not inherit init's oom_score_adj
	places   *crowd.Shares[int64] // by user
	launches launches
	order    order
	statuses statuses
	standins standins
	hangUps  hangUps
	name     *[16]byte // of init, for prctl(2)
	parents  supervise.Launched
	deputy   deputy
	stored   stored
	newest   atomic.Pointer[rights.Conn]
	children chan struct{} // signals that there may be children again
	deadline deadline
	fence    fence
}

// New returns an Init. It opens what it needs and starts nothing.
func New(cfg Config) (*Init, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	cursor, err := os.OpenFile(cursorFile, os.O_RDWR, 0)
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
		places:   crowd.NewShares[int64](maxLaunches),
		children: make(chan struct{}, 1),
		name:     commName(name),
	}
	in.launches.init(in.exists)
	in.standins.init(cfg.Log, cfg.Cookie, in.childBorn, in.limitAgain)
	in.hangUps.init()
	in.stored.init(cfg.Log)
	if err := in.fence.init(cursor.Fd()); err != nil {
		return nil, errors.Join(err, null.Close(), cursor.Close(), limit.Close())
	}
	in.order.init()
	in.statuses.init()
	if err := in.deadline.init(); err != nil {
		return nil, errors.Join(err, in.close())
	}
	if err := in.deputy.init(cfg, &in.parents); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// Run serves daemons until the listener fails or ctx ends. Only one Init of a process may run,
// since it reaps all children of the process. If ctx ends while there are children, Run returns
// after the next of them has ended.
func (in *Init) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return in.accept(ctx, g) })
	g.Go(func() error { return in.reap(ctx) })
	g.Go(func() error { return in.tell(ctx) })
	g.Go(func() error { return in.standins.tidy(ctx) })
	g.Go(func() error { return in.hangUp(ctx) })
	g.Go(func() error { return in.expire(ctx, g) })
	g.Go(func() error { return in.keepFence(ctx) })
	g.Go(func() error { return in.deputy.run(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		in.order.close()
		in.deputy.close()
		return errors.Join(in.cfg.Listener.Close(), in.deadline.timer.Close())
	})
	err := g.Wait()
	return errors.Join(err, in.close())
}

func (in *Init) close() error {
	in.stored.close()
	return errors.Join(in.null.Close(), in.cursor.Close(), in.limit.Close(), in.fence.close(), in.deputy.closeFiles())
}

// request carries out one request, or starts it.
func (in *Init) request(g *errgroup.Group, c *rights.Conn, m wire.Message, number uint64, fds []int) error {
	if m.Type() != wire.TypeInitLaunch && m.Type() != wire.TypeInitStore {
		rights.Close(fds)
	}
	switch m := m.(type) {
	case *wire.InitLaunch:
		in.begin(g, c, number, m, fds)
	case *wire.InitSignal:
		in.signal(g, m)
	case *wire.InitKillAll:
		in.killAll(g)
	case *wire.InitDeadline:
		return in.deadline.move(m.At)
	case *wire.InitGroup:
		in.beginGroup(g, c, number, m)
	case *wire.InitHangUp:
		in.beginHangUp(m)
	case *wire.InitShadow:
		in.beginShadow(g, c, number, m)
	case *wire.InitStore:
		in.stored.put(m.Name, fds)
	case *wire.InitDrop:
		in.stored.drop(m.Name)
	case *wire.InitForget:
		in.order.kept.forget(m.PIDs...)
	case *wire.InitSync:
		// The frames before it were carried out one after the other. Launches and groups, which
		// have only been started by then, have answers of their own.
		in.order.reply(c, number, done(0))
	default:
		return fmt.Errorf("%w: type %d is not for init", wire.ErrFrame, m.Type())
	}
	return nil
}

package ghost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/probe"
	"bproc/internal/quietsock"
	"bproc/wire"
)

// Config is the configuration of a keeper.
type Config struct {
	Socket string // unix socket for the master
	Image  string // path of the ghost's image
	Groups string // path of the program bpgroups
	Shards int    // threads; 0: default
}

// defaultShards is the default number of threads that hold ghosts. One thread can hold some
// thousand: wait4 looks at all tracees of its thread.
const defaultShards = 8

// Keeper holds ghosts and drives them for the master.
type Keeper struct {
	cfg    Config
	rules  rules
	log    *slog.Logger
	shards []*shard
	owners *registry
	events *reports
	groups groupKills
}

// New returns a keeper for a ghost image, which must exist.
func New(cfg Config, log *slog.Logger) (*Keeper, error) {
	if cfg.Shards == 0 {
		cfg.Shards = defaultShards
	}
	if err := probe.Machine.Ptrace(); err != nil {
		return nil, fmt.Errorf("%w, and ghosts are traced; set it to 2 or less in /etc/sysctl.d and reboot, for 3 cannot be changed back", err)
	}
	if err := Check(cfg.Image); err != nil {
		return nil, err
	}
	rules, err := newRules(cfg.Image)
	if err != nil {
		return nil, err
	}
	remaps := canRemap()
	k := &Keeper{cfg: cfg, rules: rules, log: log, owners: newRegistry(), events: newReports(log)}
	for range cfg.Shards {
		s := newShard(cfg.Image, rules, k.events, k.owners, log)
		s.remaps, s.groups = remaps, &k.groups
		k.shards = append(k.shards, s)
	}
	return k, nil
}

// Run serves until the context ends. The kernel releases the ghosts when the process ends. Ghosts that were held
// at their exit then end; the others wait for the next keeper, which waits for the end of this process.
func (k *Keeper) Run(ctx context.Context) error {
	lock, err := lockSocket(k.cfg.Socket)
	if err != nil {
		return err
	}
	defer lock.Close() // the lock stays until the process ends
	mark, err := markOf(lock)
	if err != nil {
		return err
	}
	if k.owners.origins, err = openOrigins(k.cfg.Socket); err != nil {
		return err
	}
	defer k.owners.origins.close()
	l, err := listen(k.cfg.Socket)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := interruptible(alarmSignal); err != nil {
		return err
	}
	defer func() {
		if err := k.groups.close(); err != nil {
			k.log.Warn("process groups are watched on", "err", err)
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range k.shards {
		s.mark = mark
		ready := make(chan error)
		group.Go(func() error { return s.run(ctx, ready) })
		if err := <-ready; err != nil {
			return errors.Join(err, group.Wait())
		}
	}
	if err := k.seizeFormer(ctx); err != nil {
		k.log.Error("ghosts of a former keeper are not seized", "err", err)
	}
	group.Go(func() error { k.watchGroups(ctx); return nil })
	group.Go(func() error { return k.serve(ctx, l) })
	return group.Wait()
}

// handover is how long the keeper still reads from a master that another one replaces.
const handover = 3 * time.Second

// acceptPause is the pause before accepting again when there were no descriptors or no memory for a
// connection.
const acceptPause = 50 * time.Millisecond

// serve serves one master at a time; a newer connection ends an older one. If a master has died,
// all that it has written is carried out before the next one is served: its connection outlives it
// until that is read.
func (k *Keeper) serve(ctx context.Context, l *net.UnixListener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var current *quietsock.Conn
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		conn, err := l.AcceptUnix()
		if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			k.log.Warn("a master could not be accepted", "err", err)
			time.Sleep(acceptPause)
			continue
		}
		if current != nil {
			_ = current.SetReadDeadline(time.Now().Add(handover)) // it may be closed
			serving.Wait()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("socket of the keeper: %w", err)
		}
		quiet, err := quietsock.New(conn)
		if err != nil {
			k.log.Error("cannot serve the master", "err", err)
			continue
		}
		current = quiet
		serving.Go(func() {
			defer quiet.Close()
			if err := k.master(ctx, quiet); err != nil {
				k.log.Info("the master's connection ended", "err", err)
			}
		})
	}
}

// master serves the connection of a master.
func (k *Keeper) master(ctx context.Context, conn *quietsock.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	reader := wire.NewReader(conn)
	m, number, err := reader.Read()
	if err != nil {
		return err
	}
	hello, ok := m.(*wire.GhostHello)
	if !ok {
		return fmt.Errorf("%w: type %d begins a connection", wire.ErrFrame, m.Type())
	}
	if hello.Version < wire.MinVersion || hello.Version > wire.Version {
		return wire.Write(conn, number, &wire.Refused{Reason: fmt.Sprintf("the keeper speaks protocol versions %d to %d, the master %d", wire.MinVersion, wire.Version, hello.Version)})
	}
	if err := k.settle(ctx); err != nil { // a shard that hangs must not stop the others from being served
		k.log.Error("the master is served before all that a former one has asked for is done", "err", err)
	}
	for _, list := range k.owners.lists() {
		list.Boot = k.events.boot()
		if err := wire.Write(conn, number, list); err != nil {
			return err
		}
	}
	master := k.events.attach(conn)
	done := make(chan struct{})
	var writing errgroup.Group
	writing.Go(func() error {
		err := k.events.write(done, conn)
		_ = conn.SetReadDeadline(time.Now().Add(handover)) // a master that reads nothing may still have written requests
		return err
	})
	err = k.requests(ctx, master, reader)
	close(done)
	conn.Close()
	return errors.Join(err, writing.Wait())
}

// settleTime bounds how long a master waits for the requests of the one before it.
const settleTime = 10 * time.Second

// settle waits until the shards have carried out their requests, so that the master is told of
// ghosts that exist, and not of some that cannot be made.
func (k *Keeper) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleTime, errors.New("the requests of a former master are not carried out"))
	defer cancel()
	for _, s := range k.shards {
		carriedOut := make(chan struct{})
		if err := s.put(request{done: func(error) { close(carriedOut) }}); err != nil {
			return fmt.Errorf("requests of a former master: %w", err)
		}
		select {
		case <-carriedOut:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// requests distributes a master's requests to the shards. While the keeper ends, a request that a shard does not take
// stays unanswered: the master asks the next keeper.
func (k *Keeper) requests(ctx context.Context, master uint64, reader *wire.Reader) error {
	for {
		m, number, err := reader.Read()
		if err != nil {
			return err
		}
		if m, ok := m.(*wire.GhostTaken); ok {
			k.events.taken(m.Marks)
			continue
		}
		s, entered, ok := k.route(m)
		if !ok {
			return fmt.Errorf("%w: type %d is no request to the keeper", wire.ErrFrame, m.Type())
		}
		err = unix.ESRCH
		if s != nil {
			err = s.put(request{master: master, number: number, msg: m})
		}
		if err != nil && entered != 0 {
			k.owners.drop(entered, s)
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && number != 0 {
			k.events.done(master, number, errnoOf(err))
			k.events.flush()
		}
	}
}

// route returns the shard for a request; nil if the request's ghost does not exist. The ghost that a
// request makes is entered in the registry; 0: none was.
func (k *Keeper) route(m wire.Message) (s *shard, entered wire.PID, ok bool) {
	pid, ok := subject(m)
	if !ok {
		return nil, 0, false
	}
	s = k.owners.shardOf(pid)
	switch m := m.(type) {
	case *wire.GhostAdopt:
		if s == nil {
			s, entered = k.least(), pid
		}
	case *wire.GhostFork:
		if s != nil && k.owners.shardOf(m.Child) == nil {
			entered = m.Child
		}
	}
	if entered != 0 {
		k.owners.set(entered, s)
	}
	return s, entered, true
}

// least returns the shard with the fewest ghosts.
func (k *Keeper) least() *shard {
	least := k.shards[0]
	for _, s := range k.shards[1:] {
		if s.count.Load() < least.count.Load() {
			least = s
		}
	}
	return least
}

// subject returns the ghost that a request is about. For a fork that is the parent, whose shard
// makes the child.
func subject(m wire.Message) (wire.PID, bool) {
	switch m := m.(type) {
	case *wire.GhostAdopt:
		return m.PID, true
	case *wire.GhostFork:
		return m.Parent, true
	case *wire.GhostExec:
		return m.PID, true
	case *wire.GhostJoin:
		return m.PID, true
	case *wire.GhostExit:
		return m.PID, true
	case *wire.GhostStop:
		return m.PID, true
	case *wire.GhostCont:
		return m.PID, true
	case *wire.GhostCall:
		return m.PID, true
	case *wire.GhostSync:
		return m.PID, true
	case *wire.GhostUser:
		return m.PID, true
	case *wire.GhostTrait:
		return m.PID, true
	}
	return 0, false
}

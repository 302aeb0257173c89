package ghost

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
	"bproc/wire"
)

// shard is a thread that traces some ghosts.
type shard struct {
	log    *slog.Logger
	image  string
	rules  rules // that a ghost meets
	mark   ourMark
	events *reports
	owners *registry
	groups *groupKills

	ghosts map[wire.PID]*held
	count  atomic.Int32

	// coming has, by number, the trees of ghosts that are being made. early has the stops of such
	// ghosts whose makers have not reported them yet.
	coming map[wire.PID]*tree
	early  map[wire.PID]unix.WaitStatus

	strangers map[wire.PID]bool // no ghosts: they are released when they stop

	young []young // in the order in which they began

	slipped int  // ghosts that are held as zombies
	remaps  bool // see canRemap

	worker *worker   // running; nil: none is
	idle   []*worker // without work
	away   []*worker // waiting for ghosts
	ended  bool      // the shard waits for nothing any more
	prod   prod
	bell   bell
	ticks  ticks

	batch []request // taken from the queue

	upcoming wire.PID // the ghost of the next request; 0: none, or the request may not drive it
	standing *driven  // stopped for the next request
	offered  *driven  // stopped for this request, until the request takes it

	waiting atomic.Bool // it waits for ghosts, or is about to: the bell must be rung

	queue *queue
}

func newShard(image string, rules rules, events *reports, owners *registry, log *slog.Logger) *shard {
	return &shard{
		log: log, image: image, rules: rules, events: events, owners: owners, groups: new(groupKills), queue: newQueue(),
		ghosts: map[wire.PID]*held{}, coming: map[wire.PID]*tree{}, early: map[wire.PID]unix.WaitStatus{}, strangers: map[wire.PID]bool{},
	}
}

// put gives the shard a request. It waits while the queue is full.
func (s *shard) put(r request) error {
	err := s.queue.putWaiting(r)
	if err == nil {
		s.ring()
	}
	return err
}

// ring wakes the shard if it waits.
func (s *shard) ring() {
	if s.waiting.Load() {
		s.bell.ring()
	}
}

// run serves until the context ends. Its thread ends when it returns; the kernel then releases the
// ghosts.
func (s *shard) run(ctx context.Context, ready chan<- error) error {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	err := s.start()
	ready <- err
	if err != nil {
		return err
	}
	defer s.prod.remove()
	defer s.bell.remove()
	defer s.ticks.stop()
	stop := context.AfterFunc(ctx, func() {
		s.queue.end()
		s.bell.ring()
	})
	defer stop()
	defer s.dismiss()
	for ctx.Err() == nil {
		s.tick()
		s.serve()
		if err := s.wait(); err != nil {
			return fmt.Errorf("wait for ghosts: %w", err)
		}
	}
	return nil
}

// start makes the shard's timers on its thread.
func (s *shard) start() (err error) {
	if err := unix.Access(s.image, unix.X_OK); err != nil {
		return fmt.Errorf("image of ghosts %s: %w; install it with 'bpkeeper --install-ghost %[1]s'", s.image, err)
	}
	if s.prod.alarm, err = newAlarm(); err != nil {
		return err
	}
	if s.bell.alarm, err = newAlarm(); err != nil {
		s.prod.remove()
		return err
	}
	s.ticks.timer = time.AfterFunc(time.Hour, func() {
		s.ticks.due.Store(true)
		s.ring()
	})
	return nil
}

// serve handles all requests in the queue.
func (s *shard) serve() {
	for s.more() {
		s.switchTo(s.idleWorker())
	}
}

// more reports whether there are requests that no worker has taken.
func (s *shard) more() bool {
	if len(s.batch) == 0 {
		s.batch = s.queue.take()
	}
	return len(s.batch) > 0
}

// take takes the next request.
func (s *shard) take() request {
	r := s.batch[0]
	s.batch = s.batch[1:]
	s.upcoming = 0
	if len(s.batch) > 0 {
		s.upcoming = drives(s.batch[0].msg)
	}
	return r
}

// drives returns the ghost that a request drives; 0: none, or it may not drive one.
func drives(m wire.Message) wire.PID {
	switch m.(type) {
	case nil, *wire.GhostAdopt, *wire.GhostStop, *wire.GhostCont:
		return 0
	}
	pid, _ := subject(m)
	return pid
}

// wait waits for a ghost, or until the bell is rung, and handles all that have stopped.
func (s *shard) wait() error {
	s.events.flush()
	s.waiting.Store(true)
	options := 0
	if !s.queue.quiet() || s.ticks.due.Load() { // they came before waiting was set, so the bell was not rung
		options = unix.WNOHANG
	}
	pid, status, err := s.await(anyTracee, options)
	s.waiting.Store(false)
	s.bell.silence() // what follows ends with a look into the queue
	for {
		switch {
		case err != nil:
			return err
		case pid == 0:
			return nil
		}
		s.stopped(pid, status)
		pid, status, err = s.await(anyTracee, unix.WNOHANG)
	}
}

// stopped handles a tracee that has stopped or ended.
func (s *shard) stopped(pid wire.PID, status unix.WaitStatus) {
	switch g := s.ghosts[pid]; {
	case g != nil:
		s.ghostStopped(g, status)
	case s.coming[pid] != nil && status.Stopped() && !s.strangers[pid]:
		s.early[pid] = status
	default:
		s.dropStranger(pid, status)
	}
}

func (s *shard) add(g *held) {
	g.groupKill = groupkill.Now() // it has not got earlier ones
	s.ghosts[g.pid] = g
	s.count.Add(1)
}

func (s *shard) remove(g *held) {
	delete(s.ghosts, g.pid)
	s.count.Add(-1)
	s.owners.drop(g.pid, s)
}

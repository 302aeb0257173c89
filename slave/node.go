package slave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
	"bproc/internal/outbox"
	"bproc/pidmap"
	"bproc/procfs/status"
	"bproc/slave/core"
	"bproc/slave/hardware"
	"bproc/slave/pid1/standin"
	"bproc/slave/procevents"
	"bproc/slave/space"
	"bproc/slave/stdio"
	"bproc/wire"
	"bproc/wire/link"
)

// node is the daemon: one process space and everything that serves it.
type node struct {
	log      *slog.Logger
	space    *space.Space
	source   *procevents.Source
	recorder *recorder
	numbers  *numbers
	granting sync.Mutex // held while the blocks change, until the journal has them
	supply   *supply
	warden   *warden
	out      outlet
	state    *state
	watch    *watch
	tasks    *tasks
	stdios   stdio.Table
	viewers  *status.Server
	hardware *hardware.Reader
	lookout  *lookout
	view     *view
	shadows  *shadows
	powers   *powers
	names    *names
	former   *found                       // what a former daemon has left
	linked   atomic.Pointer[link.Session] // the present link, or the last one
	begun    core.Session                 // the last one; owned by the goroutine that makes links
	streams  sync.WaitGroup               // the goroutines of streams, of all sessions
	init     initWatch
	settled  chan struct{} // closed when it is known which launches a former daemon has begun
	leaving  atomic.Bool   // the daemon ends with all processes
	patience patience
}

// newNode makes the process space and has the kernel note what happens in it.
func newNode(ctx context.Context, cfg Config, home wire.Block, log *slog.Logger) (*node, error) {
	n := &node{log: log, supply: newSupply(), hardware: hardware.NewReader(), settled: make(chan struct{}), patience: cfg.patience}
	n.out = newOutlet(func() { n.linked.Load().Close(outbox.ErrFull) })
	ring, err := ringIn(cfg.Record, log)
	if err != nil {
		return nil, err
	}
	sp, err := space.Create(ctx, space.Config{
		Dir: cfg.Runtime, Root: cfg.Root, Init: filepath.Join(cfg.Lib, "bpinit"),
		Name: filepath.Base(cfg.Runtime), Log: log, Daemon: frontEnd{n}, View: viewOf(cfg), Home: home,
		OnStatus: n.status, OnLaunched: n.launched,
	})
	if err != nil {
		return nil, fmt.Errorf("process space: %w", err)
	}
	n.space = sp
	n.stdios.Log, n.stdios.Keep, n.stdios.Drop = log, sp.Keep, n.dropKept
	n.tasks = newTasks(log, taskGroupOf(sp, log))
	held := &hold{freeze: sp.Freeze, frozen: sp.Frozen, thaw: sp.Thaw}
	n.init = initWatch{ask: sp.Sync, held: held.counted}
	n.state = newState(log, n.out, held, sp)
	n.state.ring = ring
	n.powers = &powers{log: log, commands: cfg.Power, tell: n.out.put}
	n.names = newNames(cfg, sp.Cover, log)
	n.names.begin()
	n.shadows = newShadows(log)
	n.shadows.make, n.shadows.drop, n.shadows.ends = sp.MakeShadow, n.dropKept, frontEnd{n}.ended
	former, err := n.takeOver()
	if err != nil {
		n.tasks.close()
		n.shadows.close()
		return nil, errors.Join(err, sp.Destroy(ctx))
	}
	n.lookout = &lookout{
		log: log, socket: socketOf(cfg), linked: n.linked.Load, number: sp.Number,
		stamp: func() uint64 { return n.recorder.stamp() }, silent: crowd.New[uint32](maxSilent),
	}
	n.view = newView(cfg, sp.InitPID(), log)
	n.viewers = newViewers(sp, log, func() uint64 { return n.recorder.stamp() })
	proc := procIn(sp)
	n.watch = newWatch(proc.Zombie, n.source.Produced, sp.Anchor)
	n.numbers = &numbers{
		log: log, set: sp.SetCursor, arm: n.source.Arm, allow: n.source.Allow, fence: sp.Fence, cursor: pidmap.NewCursor(home),
		want: n.wantBlock, home: home,
	}
	n.numbers.tasks = n.tasks.count
	kill := func(pid wire.PID) error { return sp.Signal(pid, wire.KernelSignal(unix.SIGKILL)) }
	n.warden = &warden{log: log, source: n.source, numbers: n.numbers, hold: held, kill: kill, full: make(chan struct{}, 1)}
	n.recorder = &recorder{
		log: log, source: n.source, proc: proc, state: n.state,
		tracker: procevents.NewTracker(procevents.DefaultHold, procevents.NewImages(proc).Image),
		empty:   n.warden.emptied, life: n.numbers.life,
		end:    kill,
		watch:  n.watch,
		madeUp: n.stdios.Journal.MakeUp,
		lost:   n.stdios.Journal.MadeUp(),
	}
	n.state.tracker = n.recorder.tracker
	n.recorder.tracker.KeepZombies(proc.Remains)
	n.stdios.Stamp = n.recorder.stamp
	n.former = former
	if err := n.resume(former); err != nil {
		return nil, errors.Join(err, n.destroy(ctx))
	}
	return n, nil
}

// emptyTime bounds the time until killed processes have ended and the master has been told.
const emptyTime = 10 * time.Second

// empty waits until all processes, which the caller has killed, have ended and told returns true.
func (n *node) empty(ctx context.Context, told func() bool) error {
	return n.until(ctx, errors.New("processes do not end"), func() (bool, error) {
		proc := procIn(n.space)
		all, err := proc.Scan()
		alive := slices.ContainsFunc(all, func(p procevents.ProcessInfo) bool {
			return p.PID != 1 && !standin.Is(string(proc), p.PID) // init makes new stand-ins
		})
		return !alive && told(), err
	})
}

// until waits until is returns true, for at most emptyTime times the node's patience.
func (n *node) until(ctx context.Context, late error, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, n.patience.bound(emptyTime), late)
	defer cancel()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// procIn returns the space's procfs as this daemon can open it.
func procIn(sp *space.Space) procevents.Proc {
	return procevents.Proc(fmt.Sprintf("/proc/self/fd/%d", sp.Proc().Fd()))
}

func (n *node) wantBlock() {
	if err := n.out.put(&wire.BlocksWanted{Blocks: 1}); err != nil {
		n.log.Error("more process numbers could not be asked for", "err", err)
	}
}

// runSpace serves the process space until the context ends or init does.
func (n *node) runSpace(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.space.Run(ctx) })
	group.Go(func() error { return n.warden.run(ctx) })
	group.Go(func() error { return n.warden.empty(ctx, func() { n.recorder.stamp() }) })
	group.Go(func() error { return n.settle(ctx, n.former) })
	group.Go(func() error { return n.recorder.run(ctx) })
	group.Go(func() error { return n.keepLease(ctx) })
	group.Go(func() error { return n.init.run(ctx) })
	group.Go(func() error { return n.pursue(ctx) })
	group.Go(func() error { return n.state.run(ctx) })
	group.Go(func() error { return n.stdios.Run(ctx) })
	group.Go(func() error { return n.shadows.run(ctx) })
	group.Go(func() error { return n.giveBack(ctx) })
	group.Go(func() error { return n.lookout.run(ctx) })
	group.Go(func() error { return n.view.run(ctx) })
	group.Go(func() error { return n.names.run(ctx) })
	group.Go(func() error { return n.tasks.run(ctx) })
	group.Go(func() error { return n.watch.run(ctx, n.recorder.relook) })
	return group.Wait()
}

// destroyTime bounds the time for ending everything in the space.
const destroyTime = 20 * time.Second

// destroy ends the process space with everything in it.
func (n *node) destroy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.patience.bound(destroyTime))
	defer cancel()
	n.streams.Wait() // init is asked nothing any more, so no start waits
	n.tasks.close()
	err := errors.Join(n.viewers.Close(), n.space.Destroy(ctx))
	n.stdios.Close()
	n.shadows.close()
	return errors.Join(err, n.source.Close(), n.stdios.Journal.Close())
}

// launch starts a process in the space. It goes on even if the session in which the front end asked
// for the process ends.
func (n *node) launch(spawn *wire.Spawn, d *stdio.Descriptors) {
	var err error
	if spawn.Command.View {
		err = n.view.need() // first: meanwhile the cgroup of the process can be removed
	}
	entry, entryErr := n.tasks.launch(spawn)
	if err = errors.Join(err, entryErr); err == nil {
		err = n.space.Launch(spawn, d.Far(), entry, func(stage wire.Stage, errno unix.Errno) {
			if errno != 0 {
				n.notSpawned(spawn, stage, errno)
				n.stdios.Go(d.Fail)
				return
			}
			n.recorder.spawned(spawn.PID)
			n.stdios.Go(d.Run)
		})
	}
	if entry != nil {
		entry.Close()
	}
	d.CloseFar()
	if err != nil {
		n.notSpawned(spawn, wire.StageSpawn, errnoOf(err))
		d.Fail()
	}
}

func (n *node) notSpawned(spawn *wire.Spawn, stage wire.Stage, errno unix.Errno) {
	n.recorder.notSpawned(spawn.PID, spawn.Launch, stage, errno)
	n.tasks.ended()
}

// status takes in what wait4(2) returned to init for one of its children.
func (n *node) status(m *wire.InitStatus) {
	n.stdios.Ends(m.PID)
	if n.recorder.status(m) {
		n.tasks.ended()
		n.stdios.Ended(m.PID)
	}
}

// inventory returns what this node is and has, except for its processes. The recorder's lock is
// held.
func (n *node) inventory() wire.Inventory {
	var name unix.Utsname
	var info unix.Sysinfo_t
	n.granting.Lock()
	defer n.granting.Unlock()
	if len(n.state.known()) == 0 {
		n.numbers.forget() // no process has a number in the blocks; the master grants others
		n.state.step(core.Blocks{})
	}
	blocks := n.numbers.blocks()
	n.tasks.have(count(blocks))
	n.supply.set(len(blocks) > 0)
	inv := wire.Inventory{Blocks: blocks, CPUs: uint32(runtime.NumCPU()), Names: true, Space: n.space.Identity()}
	if err := unix.Uname(&name); err == nil {
		inv.Kernel = string(bytes.TrimRight(name.Release[:], "\x00"))
	}
	if err := unix.Sysinfo(&info); err == nil {
		inv.Memory = uint64(info.Totalram) * uint64(info.Unit)
	}
	return inv
}

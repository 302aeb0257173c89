package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/internal/service"
	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/wire"
	"bproc/wire/link"
)

// DefaultPort is the master's TCP port for slaves.
const DefaultPort = link.DefaultPort

// Config configures a slave.
type Config struct {
	Master  string // HOST:PORT of the master
	Token   string // join token; empty once the slave has joined
	Tokens  string // file with a join token, which is removed when the slave has joined; empty: none
	State   string // directory for what survives a restart
	Runtime string // directory for the process space
	Record  string // directory for a recording of the last inputs; empty: none
	Lib     string // directory with bpinit
	View    string // the program bpprocfs; empty: no process can see the cluster in /proc
	Root    string // root directory of the processes
	Power   Power  // commands that bring the machine down
	Keep    bool   // leave the processes to the next daemon when told to end

	// Restart is closed, or receives, when the daemon must end and leave its processes to the next
	// one, whatever Keep says; nil: never.
	Restart <-chan os.Signal

	patience patience // for tests, which may run on a slow machine
}

// patience is the factor by which time limits are longer than usual; 0 means 1.
type patience int

// bound returns the time limit for something that usually has limit d.
func (p patience) bound(d time.Duration) time.Duration { return d * time.Duration(max(p, 1)) }

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{State: "/var/lib/bproc/slave", Runtime: "/run/bproc/slave", Root: "/", Power: DefaultPower()}
}

// Run joins, makes the process space or goes on with that of a former daemon, and serves the master
// until the context ends. With Keep, or after Restart, the program must end when Run returns.
func Run(ctx context.Context, cfg Config, log *slog.Logger) error {
	if err := raisePriority(); err != nil {
		log.Warn("the daemon goes without priority", "err", err)
	}
	hello, err := greeting()
	if err != nil {
		return err
	}
	unlock, err := lockAll(cfg)
	if err != nil {
		return err
	}
	defer unlock()
	identity, err := identify(ctx, cfg, hello, log)
	if err != nil {
		return err
	}
	dial := link.DialConfig{Addr: cfg.Master, Identity: identity, Hello: hello, Log: log}
	// A daemon that is told to leave the processes ends as if it were killed: what it leaves is
	// made for that, and a link that is not closed tells the master that the processes live. The
	// serving routines must not learn then that the caller, on its way out, ends the context.
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := serve(serving, cfg, dial)
		end(err)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		if !cfg.Keep {
			end(context.Cause(ctx))
			return <-ended
		}
	case <-cfg.Restart:
	}
	service.Stopping()
	return nil
}

// startTime bounds how long the process space may take to come up, or to be taken over.
const startTime = 30 * time.Second

// serve makes the process space, or takes it over, and serves the master until the context ends. If
// the context ends earlier, the space comes up all the same and ends as at any other time: it may
// have processes of a former daemon.
func serve(ctx context.Context, cfg Config, dial link.DialConfig) error {
	starting, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cfg.patience.bound(startTime), errors.New("it does not come up"))
	defer cancel()
	n, err := newNode(starting, cfg, dial.Identity.Home, dial.Log)
	if errors.Is(err, errUseless) {
		dial.Log.Error("the process space was ended with all processes, and is made anew", "err", err)
		n, err = newNode(starting, cfg, dial.Identity.Home, dial.Log)
	}
	if err != nil {
		return err
	}
	return n.run(ctx, dial)
}

// checkHome checks that the node's home, if it has one, consists of numbers for nodes.
func checkHome(id *link.Identity) error {
	if id.Home.Count == 0 {
		return nil
	}
	if err := pidmap.Validate([]wire.Block{id.Home}); err != nil {
		return fmt.Errorf("numbers at home on this node: %w; join again with a new token", err)
	}
	return nil
}

// greeting returns the description of this machine for the master.
func greeting() (wire.Hello, error) {
	host, err := os.Hostname()
	if err != nil {
		return wire.Hello{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return wire.Hello{}, fmt.Errorf("boot id: %w", err)
	}
	return wire.Hello{
		Version: wire.Version, Arch: runtime.GOARCH,
		BootID: strings.TrimSpace(string(boot)), Host: host,
	}, nil
}

// run serves one session with the master after the other. The process space outlives them; when it
// ends, the daemon ends.
func (n *node) run(ctx context.Context, cfg link.DialConfig) error {
	serving, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	stop := context.AfterFunc(ctx, func() {
		service.Stopping()
		n.leave(serving)
		fail(context.Cause(ctx))
	})
	defer stop()
	spaceCtx, endSpace := context.WithCancel(context.WithoutCancel(ctx))
	spaceEnded := make(chan struct{})
	go func() {
		defer close(spaceEnded)
		err := n.watchedSpace(spaceCtx)
		if spaceCtx.Err() == nil {
			n.spaceLost(serving)
		}
		fail(fmt.Errorf("process space: %w", err))
	}()
	service.Ready()
	err := n.sessions(serving, cfg)
	endSpace()
	<-spaceEnded
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, n.destroy(ctx))
}

// watchedSpace serves the process space, watched by the service manager. A recorder that hangs
// holds up everything that goes to the master.
func (n *node) watchedSpace(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	group.Go(func() error {
		defer cancel()
		return n.runSpace(ctx)
	})
	group.Go(func() error { return service.Watch(ctx, func() { n.recorder.stamp() }) })
	return group.Wait()
}

// turnedAway ends all processes, once. The master, which does not serve this node for a while, has
// asked for that, perhaps without being heard.
func (n *node) turnedAway(refused *link.RefusedError, before *bool) {
	if *before {
		return
	}
	*before = true
	n.log.Warn("the master does not serve this node; all processes are killed", "err", refused)
	n.state.step(core.EndAll{})
}

// sessions connects to the master again and again. It returns when the context ends or the master
// refuses this node.
func (n *node) sessions(ctx context.Context, cfg link.DialConfig) error {
	select {
	case <-n.settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var wait time.Duration
	away := false
	for {
		before, begun := n.linked.Load(), time.Now()
		err := n.session(ctx, cfg)
		wait = pause(wait, n.linked.Load() != before, time.Since(begun))
		var refused *link.RefusedError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refused) && refused.Later:
			wait = maxTurnedAway
			n.turnedAway(refused, &away)
		case errors.As(err, &refused):
			return err
		case errors.Is(err, link.ErrOtherMaster):
			n.log.Warn("if the front end was set up anew, start bpslave with a new token of 'bpctl enroll'; otherwise correct the name of the master", "err", err)
		default:
			away = false
			n.log.Info("session with the master ended", "err", err)
		}
		if n.leaving.Load() {
			<-ctx.Done() // ends in a moment; the master has been told everything
			return context.Cause(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(wait)):
		}
	}
}

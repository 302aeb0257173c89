package nodeup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/wire"
)

// Config says what is run.
type Config struct {
	Script   string        // set-up script of nodes
	Optional bool          // the script need not exist: nodes are ready without it
	Deadline time.Duration // for one set-up
	Parallel int           // set-ups and commands that run at once
	Logs     string        // directory
	PowerOn  []string      // command that switches a node on; empty: there is none
	Environ  []string      // of scripts and commands, besides the master's
}

// Job is a set-up to run.
type Job struct {
	Node    wire.NodeID
	Attempt uint64
	Name    string
	Addr    string
}

// Result says how a set-up has ended.
type Result struct {
	Node    wire.NodeID
	Attempt uint64
	Failed  string // why the set-up failed; empty: it is done
}

// Runner runs scripts.
type Runner struct {
	log  *slog.Logger
	done func(context.Context, Result)
	logs logs
	wake chan struct{}

	mu      sync.Mutex
	cfg     Config
	queue   []*running               // set-ups that have not begun, in order
	of      map[wire.NodeID]*running // the wanted set-up of each node
	active  int
	release chan struct{} // closed when an active one has ended
}

// running is a set-up that runs, or waits for its turn.
type running struct {
	Job
	stop context.CancelCauseFunc // nil: it has not begun
}

// New returns a runner that calls done at the end of each set-up.
func New(cfg Config, log *slog.Logger, done func(context.Context, Result)) *Runner {
	r := &Runner{log: log, done: done, wake: make(chan struct{}, 1), of: map[wire.NodeID]*running{}, release: make(chan struct{})}
	r.Configure(cfg)
	return r
}

// Configure changes what is run from now on.
func (r *Runner) Configure(cfg Config) {
	r.logs.setDir(cfg.Logs)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg = cfg
	r.tell()
}

// tell has Run look for work.
func (r *Runner) tell() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// SetUp has a node set up. It reports whether there is anything to be done for that; if so, the
// result comes later.
func (r *Runner) SetUp(job Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cfg.Optional {
		if _, err := os.Stat(r.cfg.Script); errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	r.stopLocked(job.Node)
	s := &running{Job: job}
	r.of[job.Node] = s
	r.queue = append(r.queue, s)
	r.tell()
	return true
}

var errStopped = errors.New("it is not wanted any more: the node has gone, or was set to another state")

// Stop ends the set-up of a node.
func (r *Runner) Stop(node wire.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked(node)
}

func (r *Runner) stopLocked(node wire.NodeID) {
	if s := r.of[node]; s != nil && s.stop != nil {
		s.stop(errStopped)
	}
	delete(r.of, node)
}

// Run runs set-ups until the context ends. Then it kills those that run.
func (r *Runner) Run(ctx context.Context) error {
	var jobs errgroup.Group
	defer jobs.Wait() //nolint:errcheck // they report to the log
	for {
		for {
			s, cfg, running := r.begin(ctx)
			if s == nil {
				break
			}
			jobs.Go(func() error {
				defer r.end()
				r.setUp(ctx, running, s, cfg)
				return nil
			})
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// begin takes the next set-up, if there is room for it.
func (r *Runner) begin(ctx context.Context) (*running, Config, context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 && r.active < r.cfg.Parallel {
		s := r.queue[0]
		r.queue = r.queue[1:]
		if r.of[s.Node] != s {
			continue
		}
		r.active++
		ctx, s.stop = context.WithCancelCause(ctx)
		return s, r.cfg, ctx
	}
	return nil, Config{}, nil
}

func (r *Runner) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	close(r.release)
	r.release = make(chan struct{})
	r.tell()
}

// setUp runs the script of a node.
func (r *Runner) setUp(ctx, running context.Context, s *running, cfg Config) {
	defer s.stop(nil)
	argv := []string{cfg.Script, strconv.Itoa(int(s.Node))}
	env := append([]string{"NODE=" + argv[1], "NODE_NAME=" + s.Name, "NODE_ADDR=" + s.Addr}, cfg.Environ...)
	began := time.Now()
	err := r.execute(running, s.Node, argv, env, cfg.Deadline)
	if ctx.Err() != nil {
		return // the next master sets it up
	}
	result := Result{Node: s.Node, Attempt: s.Attempt}
	if err == nil {
		r.note(s.Node, "the set-up is done, after %v", time.Since(began).Round(time.Millisecond))
	} else {
		r.note(s.Node, "the set-up has failed: %v", err)
		result.Failed = fmt.Sprintf("set-up script %s: %v; see 'bpctl log %d'", cfg.Script, err, s.Node)
	}
	r.mu.Lock()
	wanted := r.of[s.Node] == s
	if wanted {
		delete(r.of, s.Node)
	}
	r.mu.Unlock()
	if wanted {
		r.done(ctx, result)
	}
}

// note adds a line to the log of a node.
func (r *Runner) note(node wire.NodeID, format string, args ...any) {
	if err := r.logs.node(node).note(format, args...); err != nil {
		r.log.Error("something is not in the log of a node", "node", node, "err", err)
	}
}

// ErrNoPowerOn says that no command switches nodes on.
var ErrNoPowerOn = errors.New("no command switches nodes on: there is no 'power-on' in the configuration of bpmaster")

// powerOnTime bounds the command that switches a node on.
const powerOnTime = time.Minute

// PowerOn has the command switch a node on, and waits for its end.
func (r *Runner) PowerOn(ctx context.Context, node wire.NodeID, name string) error {
	cfg, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer r.end()
	if len(cfg.PowerOn) == 0 {
		return ErrNoPowerOn
	}
	id := strconv.Itoa(int(node))
	var argv []string
	for _, word := range cfg.PowerOn {
		argv = append(argv, strings.NewReplacer("%n", id, "%h", name, "%%", "%").Replace(word))
	}
	if err := r.execute(ctx, node, argv, append([]string{"NODE=" + id, "NODE_NAME=" + name}, cfg.Environ...), powerOnTime); err != nil {
		r.note(node, "it was not switched on: %v", err)
		return fmt.Errorf("%s: %w; see 'bpctl log %d'", strings.Join(argv, " "), err, node)
	}
	r.note(node, "it was switched on")
	return nil
}

// enter waits until there is room for a command.
func (r *Runner) enter(ctx context.Context) (Config, error) {
	for {
		r.mu.Lock()
		cfg, release := r.cfg, r.release
		if r.active < cfg.Parallel {
			r.active++
			r.mu.Unlock()
			return cfg, nil
		}
		r.mu.Unlock()
		select {
		case <-release:
		case <-ctx.Done():
			return cfg, context.Cause(ctx)
		}
	}
}

// Bpprocfs shows the processes of the cluster as the front end's /proc. See
// bpprocfs(8).
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/client"
	"bproc/internal/inherited"
	"bproc/internal/service"
	"bproc/internal/sparselog"
	"bproc/procfs"
	"bproc/procfs/guard"
	"bproc/procfs/nodes"
	"bproc/procfs/scout"
)

// guardName is the name of the process that frees readers if the view is killed.
const guardName = "bpprocfs-guard"

// scoutName is the name of the process that looks into processes before programs do.
const scoutName = "bpprocfs-scout"

// processors is the least number of processors that the Go runtime uses, in its sense; package fuse has
// as many readers of requests. A thread that waits for a request keeps one for a moment, and a thread
// that gets a request must find another: with two of them, a first look at many processes took a sixth
// longer.
const processors = 8

func main() {
	name := filepath.Base(os.Args[0])
	run := func(c *cobra.Command) error {
		return printed.Execute(context.Background(), c, &printed.Output{To: os.Stdout})
	}
	var err error
	switch {
	case name == guardName:
		err = guard.Run(slices.Contains(os.Args[1:], "--"+detachFlag))
	case name == scoutName && len(os.Args) == 2:
		err = scout.Run(os.Args[1])
	case strings.HasPrefix(name, "mount."):
		err = run(helper(name))
	default:
		err = run(command())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var cfg procfs.Config
	var level slog.Level
	var lazy bool
	var fds descriptors
	c := &cobra.Command{
		Use: "bpprocfs MOUNTPOINT", Short: "shows the processes of the cluster as the front end's /proc",
		Args: operands.Named("mount point"), SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cfg.Mountpoint = args[0]
			return run(cfg, lazy, fds, level)
		},
	}
	c.Flags().BoolVar(&cfg.Keep, "keep", false, "leave the real procfs mounted below the view")
	c.Flags().BoolVar(&lazy, "lazy", false, "ask the nodes nothing before somebody looks")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.Flags().IntVar(&cfg.Space, "space", 0, "the real procfs is that of the mount namespace of `process`, a bpinit")
	c.Flags().IntVar(&fds.ready, readyFlag, -1, "")
	c.Flags().IntVar(&fds.life, lifeFlag, -1, "")
	c.Flags().BoolVar(&fds.detach, detachFlag, false, "")
	for _, internal := range []string{readyFlag, lifeFlag, detachFlag} {
		_ = c.Flags().MarkHidden(internal)
	}
	c.SetFlagErrorFunc(operands.FlagError)
	c.Version = release.Version()
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return c
}

// lifeFlag names the option with a descriptor whose other end the starter of the view holds. The
// view ends when that other end is closed.
const lifeFlag = "life-fd"

// detachFlag names the option to drop the standard error output when the view is mounted. The guard
// has it, too.
const detachFlag = "detach"

// descriptors are descriptors that this program was started with, or -1.
type descriptors struct {
	ready, life int
	detach      bool // stderr is dropped when the view is mounted
}

func run(cfg procfs.Config, lazy bool, fds descriptors, level slog.Level) error {
	runtime.GOMAXPROCS(max(processors, runtime.GOMAXPROCS(0)))
	log := slog.New(sparselog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	signal.Ignore(unix.SIGPIPE) // else a log line that nobody reads would end the view
	asked, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	context.AfterFunc(asked, stop) // a second signal ends the view at once
	proc, err := openProc(cfg.Space)
	if err != nil {
		return err
	}
	defer proc.Close()
	master := new(client.Client)
	source, err := nodes.New(master, proc, log)
	if err != nil {
		return err
	}
	cfg.Local, cfg.Awaited, source.Inner = localOf(asked, master, proc)
	if cfg.Local == nil && !lazy {
		cfg.Births = master.Births
	}
	cfg.Guard = []string{guardName}
	if fds.detach {
		cfg.Guard = append(cfg.Guard, "--"+detachFlag)
	}
	cfg.Scout = []string{scoutName}
	ready := make(chan struct{})
	cfg.Ready = func() {
		service.Ready()
		close(ready)
		fds.tell(log)
	}
	ctx, cancel := context.WithCancel(asked)
	defer cancel()
	if fds.life >= 0 {
		// Run does not wait for this goroutine; it ends with the program.
		go func() { awaitEnd(fds.life); cancel() }()
	}
	view := procfs.New(cfg, source, log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return source.Run(ctx) })
	group.Go(func() error { return watch(ctx, ready, view) })
	group.Go(func() error {
		err := view.Run(ctx)
		if err == nil {
			cancel() // it was unmounted; an error ends the others by itself, and must be the first
		}
		return err
	})
	if err := group.Wait(); asked.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// tell tells the starter that the view is mounted.
func (fds descriptors) tell(log *slog.Logger) {
	if fds.detach {
		if err := inherited.DropStderr(); err != nil {
			log.Warn("the starter's standard error output stays open", "err", err)
		}
	}
	if fds.ready >= 0 {
		_, _ = unix.Write(fds.ready, []byte{'\n'})
		_ = unix.Close(fds.ready)
	}
}

// watch feeds the service manager's watchdog as long as the view answers.
func watch(ctx context.Context, ready <-chan struct{}, view *procfs.View) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	return service.Watch(ctx, func() { _ = view.Answers() }) // an error is an answer
}

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
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc"
	"bproc/cmd/internal/operands"
	"bproc/internal/service"
	"bproc/internal/sparselog"
	"bproc/procfs"
	"bproc/procfs/guard"
	"bproc/procfs/nodes"
)

// guardName is the name of the process that frees readers if the view is killed.
const guardName = "bpprocfs-guard"

func main() {
	name := filepath.Base(os.Args[0])
	run := command().Execute
	switch {
	case name == guardName:
		run = guard.Run
	case strings.HasPrefix(name, "mount."):
		run = helper(name).Execute
	}
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var cfg procfs.Config
	var level slog.Level
	var ready int
	c := &cobra.Command{
		Use: "bpprocfs MOUNTPOINT", Short: "shows the processes of the cluster as the front end's /proc",
		Args: operands.Named("mount point"), SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cfg.Mountpoint = args[0]
			return run(cfg, ready, level)
		},
	}
	c.Flags().BoolVar(&cfg.Keep, "keep", false, "leave the real procfs mounted below the view")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.Flags().IntVar(&ready, readyFlag, -1, "")
	_ = c.Flags().MarkHidden(readyFlag)
	return c
}

func run(cfg procfs.Config, told int, level slog.Level) error {
	log := slog.New(sparselog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	asked, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	context.AfterFunc(asked, stop) // a second signal ends it at once
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer proc.Close()
	source, err := nodes.New(bproc.Default(), proc, log)
	if err != nil {
		return err
	}
	cfg.Guard = []string{guardName}
	ready := make(chan struct{})
	cfg.Ready = func() {
		service.Ready()
		close(ready)
		if told >= 0 {
			_, _ = unix.Write(told, []byte{'\n'})
			_ = unix.Close(told)
		}
	}
	ctx, cancel := context.WithCancel(asked)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return source.Run(ctx) })
	group.Go(func() error { return watch(ctx, ready, cfg.Mountpoint) })
	group.Go(func() error {
		defer cancel() // also when somebody has unmounted it
		return procfs.New(cfg, source, log).Run(ctx)
	})
	if err := group.Wait(); asked.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// watch feeds the service manager's watchdog as long as the view answers.
func watch(ctx context.Context, ready <-chan struct{}, mountpoint string) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	return service.Watch(ctx, func() {
		var fs unix.Statfs_t
		_ = unix.Statfs(mountpoint, &fs) // returns when it is answered
	})
}

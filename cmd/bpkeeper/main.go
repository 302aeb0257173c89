// Bpkeeper holds the ghosts of a front end. Bpmaster starts it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/ghost"
	"bproc/internal/sparselog"
	"bproc/internal/sysmon"
)

func main() {
	if err := printed.Execute(context.Background(), command(), &printed.Output{To: os.Stdout}); err != nil {
		fmt.Fprintf(os.Stderr, "bpkeeper: %v\n", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var cfg ghost.Config
	var install string
	var level slog.Level
	c := &cobra.Command{
		Use: "bpkeeper", Short: "holds the ghosts of remote processes",
		Args: operands.None, SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			if install != "" {
				return ghost.Install(install)
			}
			return run(cfg, level)
		},
	}
	c.Flags().StringVar(&cfg.Socket, "socket", "/run/bproc/keeper.sock", "`path` of the socket for the master")
	c.Flags().StringVar(&cfg.Image, "ghost", beside("ghost"), "`path` of the ghost's image")
	c.Flags().StringVar(&cfg.Groups, "groups", beside("bpgroups"), "`path` of the program that watches process groups")
	c.Flags().StringVar(&install, "install-ghost", "", "write the ghost's image to `file` and end")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.SetFlagErrorFunc(operands.FlagError)
	c.Version = release.Version()
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return c
}

// beside returns the path of a file in the directory of this program.
func beside(name string) string {
	exe, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(exe), name)
}

func run(cfg ghost.Config, level slog.Level) error {
	log := slog.New(sparselog.New(slog.NewTextHandler(sparselog.NewFile(os.Stderr), &slog.HandlerOptions{Level: level})))
	if err := sysmon.Calm(); err != nil {
		log.Warn("this daemon takes more processor time than it need", "err", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	if err := ghost.Guard(); err != nil {
		log.Warn("the keeper is not guarded", "err", err)
	}
	// The kernel reports every stop of a ghost twice: to wait4(2), in which the keeper waits, and
	// by SIGCHLD, for which Go's runtime would run its handler.
	signal.Ignore(unix.SIGCHLD)
	k, err := ghost.New(cfg, log)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ghost.WatchCursor(ctx, log) })
	group.Go(func() error { return k.Run(ctx) })
	return group.Wait()
}

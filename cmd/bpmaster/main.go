// Bpmaster is the daemon of the front end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/release"
	"bproc/internal/processors"
	"bproc/internal/service"
	"bproc/internal/sparselog"
	"bproc/internal/sysmon"
	"bproc/master"
)

func main() {
	processors.TakeHalf()
	if err := command().Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "bpmaster: %v\n", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cfg := master.DefaultConfig()
	cfg.Release = release.Version()
	var file, listen, state string
	var level slog.Level
	c := &cobra.Command{
		Use:           "bpmaster",
		Short:         "the daemon of the front end",
		Args:          operands.None,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, _ []string) error {
			err := cfg.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) && !c.Flags().Changed("config") {
				err = nil
			}
			if err != nil {
				return err
			}
			if c.Flags().Changed("listen") {
				cfg.Listen = listen
			}
			if c.Flags().Changed("state") {
				cfg.State = state
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.Lib = filepath.Join(filepath.Dir(exe), "..", "lib", "bproc")
			ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends it at once
			ctx, cfg.Last = lastBy(ctx, unix.SIGUSR1)
			log := slog.New(sparselog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
			if err := sysmon.Calm(); err != nil {
				log.Warn("this daemon takes more processor time than it need", "err", err)
			}
			m, err := master.New(cfg, log)
			if err != nil {
				return err
			}
			return m.Run(ctx)
		},
	}
	c.Flags().StringVar(&file, "config", "/etc/bproc/config", "configuration `file`")
	c.Flags().StringVar(&listen, "listen", cfg.Listen, "TCP `address` for slaves")
	c.Flags().StringVar(&state, "state", cfg.State, "`directory` for what survives a restart")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.SetFlagErrorFunc(operands.FlagError)
	return c
}

// lastBy returns a context that a signal ends, too, and what tells whether the master is the
// last: because of that signal, or because the machine shuts down.
func lastBy(ctx context.Context, sig os.Signal) (context.Context, func() bool) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, sig)
	told := make(chan struct{})
	ended, end := context.WithCancel(ctx)
	go func() { // ends with the program
		<-asked
		close(told)
		end()
	}()
	return ended, func() bool {
		select {
		case <-told:
			return true
		default:
			return service.ShutsDown(context.WithoutCancel(ctx))
		}
	}
}

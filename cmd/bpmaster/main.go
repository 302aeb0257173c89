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
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/processors"
	"bproc/internal/service"
	"bproc/internal/sparselog"
	"bproc/internal/sysmon"
	"bproc/master"
)

func main() {
	processors.TakeHalf()
	if err := printed.Execute(context.Background(), command(), &printed.Output{To: os.Stdout}); err != nil {
		for line := range strings.Lines(err.Error()) { // faults of a configuration have one line each
			fmt.Fprintf(os.Stderr, "bpmaster: %s\n", strings.TrimSuffix(line, "\n"))
		}
		os.Exit(1)
	}
}

// flags are the options of the command line.
type flags struct {
	file, listen, state string
	record              string
	check               bool
	level               slog.Level
	changed             func(name string) bool
	found               bool // the file with the configuration was there
}

// load reads the configuration, which the command line overrides.
func (f *flags) load() (master.Config, error) {
	cfg := master.DefaultConfig()
	cfg.Release, cfg.Record = release.Version(), f.record
	err := cfg.ReadFile(f.file)
	f.found = f.found || err == nil
	if errors.Is(err, fs.ErrNotExist) && !f.changed("config") && !f.found {
		err = nil
	}
	if f.changed("listen") {
		cfg.Listen = f.listen
	}
	if f.changed("state") {
		cfg.State = f.state
	}
	return cfg, err
}

// loadChecked is load for a running master. It also rejects a configuration with faults that would
// not keep a master from starting.
func (f *flags) loadChecked() (master.Config, error) {
	cfg, err := f.load()
	if err == nil {
		err = cfg.CheckPrograms()
	}
	return cfg, err
}

func command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:           "bpmaster",
		Short:         "the daemon of the front end",
		Args:          operands.None,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, _ []string) error {
			f.changed = c.Flags().Changed
			cfg, err := f.load()
			switch {
			case err != nil:
				return err
			case f.check:
				return cfg.CheckPrograms()
			}
			return run(cfg, &f)
		},
	}
	cfg := master.DefaultConfig()
	c.Flags().StringVar(&f.file, "config", "/etc/bproc/config", "configuration `file`")
	c.Flags().BoolVar(&f.check, "check-config", false, "say what is wrong with the configuration, and do nothing else")
	c.Flags().StringVar(&f.listen, "listen", cfg.Listen, "TCP `address` for slaves")
	c.Flags().StringVar(&f.state, "state", cfg.State, "`directory` for what survives a restart")
	c.Flags().StringVar(&f.record, "record", "", "keep the last inputs in this `directory`")
	c.Flags().TextVar(&f.level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.SetFlagErrorFunc(operands.FlagError)
	c.Version = release.Version()
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return c
}

// run serves until a signal comes.
func run(cfg master.Config, f *flags) error {
	unix.Umask(0o022) // whatever the caller's is: users reach the socket through the directory
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cfg.Lib = filepath.Join(filepath.Dir(exe), "..", "lib", "bproc")
	cfg.Load = f.loadChecked
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, unix.SIGHUP)
	cfg.Reloads = reloads
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the master at once
	ctx, cfg.Last = lastBy(ctx, unix.SIGUSR1)
	log := slog.New(sparselog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: f.level})))
	if err := sysmon.Calm(); err != nil {
		log.Warn("this daemon takes more processor time than it need", "err", err)
	}
	m, err := master.New(cfg, log)
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// lastBy returns a context that also ends on a signal, and a function that reports whether this
// master is the last one: because of that signal, or because the machine shuts down.
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

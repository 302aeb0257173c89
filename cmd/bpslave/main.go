// Bpslave is the daemon of a node.
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
	"golang.org/x/sys/unix"

	"bproc/cmd/internal/operands"
	"bproc/cmd/internal/printed"
	"bproc/cmd/internal/release"
	"bproc/internal/processors"
	"bproc/internal/sparselog"
	"bproc/internal/sysmon"
	"bproc/slave"
	"bproc/wire/link"
)

func main() {
	slave.Reexec()
	processors.TakeHalf()
	if err := printed.Execute(context.Background(), command(), &printed.Output{To: os.Stdout}); err != nil {
		fmt.Fprintf(os.Stderr, "bpslave: %v\n", err)
		os.Exit(status(err))
	}
}

// statusToken is EX_NOPERM of sysexits.h. Another start with the same token would fail as well, so
// the unit tells systemd not to try.
const statusToken = 77

func status(err error) int {
	if errors.As(err, new(*link.TokenError)) {
		return statusToken
	}
	return 1
}

// words are the words of a command (pflag.Value).
type words []string

func (w *words) Set(text string) error {
	if *w = strings.Fields(text); len(*w) == 0 {
		return errors.New("the command has no words")
	}
	return nil
}

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Type() string { return "command" }

// atMostOne checks the operands of a command that takes an optional master.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return operands.Named("master")(c, args)
}

func command() *cobra.Command {
	cfg := slave.DefaultConfig()
	var level slog.Level
	c := &cobra.Command{
		Use: "bpslave [flags] [MASTER[:PORT]]", Short: "the daemon of a node",
		Args: atMostOne, SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			var err error
			if cfg.Master, err = masterOf(args, configFile); err != nil {
				return err
			}
			unix.Umask(0o022) // whatever the caller's is: users reach sockets through the directory
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.Lib = filepath.Join(filepath.Dir(exe), "..", "lib", "bproc")
			cfg.View = filepath.Join(filepath.Dir(exe), "bpprocfs")
			ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the slave at once
			restart := make(chan os.Signal, 1)
			signal.Notify(restart, unix.SIGHUP)
			cfg.Restart = restart
			log := slog.New(sparselog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
			if err := sysmon.Calm(); err != nil {
				log.Warn("this daemon takes more processor time than it need", "err", err)
			}
			return slave.Run(ctx, cfg, log)
		},
	}
	c.Flags().StringVar(&cfg.Token, "join", "", "join the cluster with a `token` of 'bpctl enroll'; needed once")
	c.Flags().StringVar(&cfg.Tokens, "join-file", "", "join the cluster with the token in this `file`, which is removed then")
	c.Flags().StringVar(&cfg.State, "state", cfg.State, "`directory` for what survives a restart")
	c.Flags().StringVar(&cfg.Runtime, "runtime", cfg.Runtime, "`directory` for the process space")
	c.Flags().StringVar(&cfg.Root, "root", cfg.Root, "root `directory` of the processes")
	c.Flags().Var((*words)(&cfg.Power.Reboot), "reboot", "`command` by which the machine boots anew")
	c.Flags().Var((*words)(&cfg.Power.Halt), "halt", "`command` by which the machine halts")
	c.Flags().Var((*words)(&cfg.Power.Off), "pwroff", "`command` by which the machine switches itself off")
	c.Flags().BoolVar(&cfg.Keep, "keep", false, "leave the processes to the next bpslave when told to end")
	c.Flags().StringVar(&cfg.Record, "record", "", "keep the last inputs in this `directory`")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")
	c.SetFlagErrorFunc(operands.FlagError)
	c.Version = release.Version()
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return c
}

package ghost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// StartConfig describes a keeper to start.
type StartConfig struct {
	Program string // bpkeeper
	Image   string // the ghost's image
	Socket  string
	Log     string // log file of a keeper that is started

	// Scope is a command that starts the command in its arguments in a control group of its own, so
	// that whatever ends or bounds the starter's group does not affect the keeper; empty: none. If
	// it fails, the keeper is started without it.
	Scope []string
}

// startTime is how long a new keeper may take to serve its socket: it first seizes the ghosts of a
// former keeper.
const startTime = 20 * time.Second

// Start connects to the keeper, and starts one if none runs: a process in its own session that
// outlives its starter.
func Start(ctx context.Context, cfg StartConfig) (*Client, error) {
	c, err := Dial(cfg.Socket)
	// A keeper that is being killed may still have its socket, and drops the connection.
	ending := errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, io.EOF)
	if err == nil || !ending && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ECONNREFUSED) {
		return c, err
	}
	if len(cfg.Scope) > 0 {
		if c, err := startNew(ctx, cfg); err == nil {
			return c, nil
		}
		cfg.Scope = nil
	}
	return startNew(ctx, cfg)
}

// startNew starts a keeper and connects to it.
func startNew(ctx context.Context, cfg StartConfig) (*Client, error) {
	log, err := os.OpenFile(cfg.Log, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the keeper: %w", err)
	}
	defer log.Close()
	start, err := log.Seek(0, 2)
	if err != nil {
		return nil, fmt.Errorf("log of the keeper: %w", err)
	}
	argv := slices.Concat(cfg.Scope, []string{cfg.Program, "--socket", cfg.Socket, "--ghost", cfg.Image})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr, cmd.Stdout = "/", log, log
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the keeper, or with this process
	return await(ctx, cfg, start, ended)
}

// await connects to a keeper that has just been started.
func await(ctx context.Context, cfg StartConfig, logged int64, ended <-chan error) (*Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the keeper does not come up"))
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		c, err := Dial(cfg.Socket)
		if err == nil {
			return c, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the keeper ended at once (%w): %s", err, lastLine(cfg.Log, logged))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// lastLine returns the last line that a keeper has logged.
func lastLine(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) <= from {
		return "see " + path
	}
	lines := strings.Split(strings.TrimSpace(string(text[from:])), "\n")
	return lines[len(lines)-1]
}
